"""Skip-Thought: generate a sentence's neighbours (Kiros et al., 2015; Quick-Thoughts, appendix C)."""

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence

from contexture.encoders.base import Encoder
from contexture.encoders.gru import init_gru, run_gru
from contexture.objectives.base import Loss, Objective, StreamBatch
from contexture.objectives.decoder import TransformerDecoder
from contexture.objectives.settings import SkipThoughtConfig


class SkipThought(Objective):
    """Two decoders generate the previous and the next sentence from a sentence's vector.

    Reads vectors (B, D) of queries (f), and `words`, `document_numbers`, `positions` and `first` of the batch. The
    decoders use the encoder's word embeddings.
    """

    def __init__(self, config: SkipThoughtConfig, encoder: Encoder) -> None:
        super().__init__(config, encoder)
        words, size, tokens = encoder.query.words, encoder.query.size, encoder.vocabulary.tokens
        self.start, self.end = tokens.cls, tokens.sep
        max_length = encoder.lengths.document

        def make_decoder() -> _GruDecoder | TransformerDecoder:
            if config.decoder == "gru":
                return _GruDecoder(words.embedding_dim, size, words.num_embeddings)
            return TransformerDecoder(words, size, config.layers, config.heads, max_length + 1)

        self.before, self.after = make_decoder(), make_decoder()

    def forward(self, encoder: Encoder, states: dict[str, Tensor], batch: StreamBatch) -> Loss:
        """Return the mean −log p of a word of this device's neighbours, over both decoders; metrics: the mean of each.

        Neighbours on another device are ignored. Devices have equal weight.
        """
        vectors = states["query"]
        left = self._adjacent(batch, len(vectors)).nonzero().squeeze(1)
        if not len(left):
            return Loss(vectors.sum() * 0.0)
        words, lengths = batch["words"]["input_ids"], batch["words"]["attention_mask"].sum(dim=1)
        losses = {}
        for name, decoder, source, target in (
            ("before", self.before, left + 1, left),
            ("after", self.after, left, left + 1),
        ):
            ids, size = encoder.query.replace_unknown(words[target]), lengths[target]
            inputs = nn.functional.pad(ids, (1, 0), value=self.start)
            targets = nn.functional.pad(ids, (0, 1)).scatter(1, size[:, None], self.end)
            losses[name] = decoder(encoder.query.words, inputs, vectors[source], targets, size + 1)
        return Loss(torch.stack([*losses.values()]).mean(), losses)

    def flops(self, batch: StreamBatch) -> Tensor:
        """Return forward and backward FLOPs of both decoders, over the words of all neighbours and their ends."""
        adjacent = self._adjacent(batch, len(batch["words"]["input_ids"]))
        counts = batch["words"]["attention_mask"].sum(dim=1) + 1
        previous, following = (counts[:-1] * adjacent).sum(), (counts[1:] * adjacent).sum()
        flops: Tensor = self.before.per_word * previous + self.after.per_word * following
        return flops

    def _adjacent(self, batch: StreamBatch, count: int) -> Tensor:
        """Return whether each of this device's sentences precedes the next one in its document, (count − 1,)."""
        mine = slice(int(batch["first"]), int(batch["first"]) + count)
        documents, positions = batch["document_numbers"][mine], batch["positions"][mine]
        adjacent: Tensor = (documents[1:] == documents[:-1]) & (positions[1:] - positions[:-1] == 1)
        return adjacent


class _GruDecoder(nn.Module):
    """A GRU and a softmax over all words.

    With H units, embeddings of size W and V words, a GRU encoder and two decoders have 9H(H+W+1) + VW + 2HV parameters,
    without PyTorch's second biases (9H) and the biases of the softmaxes (2V).
    """

    def __init__(self, word_size: int, size: int, words: int) -> None:
        super().__init__()
        self.gru = nn.GRU(word_size, size)
        init_gru(self.gru)
        self.words = nn.Linear(size, words)
        nn.init.xavier_uniform_(self.words.weight)
        nn.init.zeros_(self.words.bias)
        self.per_word = 6.0 * sum(p.numel() for p in self.parameters())

    def forward(
        self, words: nn.Embedding, inputs: Tensor, thoughts: Tensor, targets: Tensor, lengths: Tensor
    ) -> Tensor:
        """Return mean −log p of the words `targets` (N, T) given `inputs` (N, T) and vectors (N, D).

        `lengths` (N,) are the numbers of words that count.
        """

        def pack_words(ids: Tensor) -> PackedSequence:
            return pack_padded_sequence(ids, lengths.cpu(), batch_first=True, enforce_sorted=False)

        packed_inputs = pack_words(inputs)
        states, _ = run_gru(self.gru, packed_inputs._replace(data=words(packed_inputs.data)), thoughts[None])
        return nn.functional.cross_entropy(self.words(states).float(), pack_words(targets).data)
