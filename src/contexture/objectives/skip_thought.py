"""Skip-Thought: write a sentence's neighbours word by word (Kiros et al., 2015; Quick-Thoughts, appendix C)."""

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence

from contexture.encoders.base import Encoder
from contexture.encoders.gru import initialise_gru
from contexture.encoders.layout import row_lengths
from contexture.encoders.packed_gru import run_gru
from contexture.encoders.words import known
from contexture.objectives.base import Loss, Objective, StreamBatch
from contexture.objectives.config import SkipThoughtConfig


class SkipThought(Objective):
    """One GRU writes the sentence before, another the sentence after; both start from the sentence's vector.

    Reads vectors (B, D) of queries (f), and of the batch the words of its sentences, `document_numbers`, `positions`
    and `first`. The decoders read the encoder's embeddings of words and have a full softmax each, over those words.
    With a GRU of H units, embeddings of length W and V words, encoder and decoders have 9H(H+W+1) + VW + 2HV
    parameters, PyTorch's second biases (9H) and those of the softmaxes (2V) aside.
    """

    def __init__(self, config: SkipThoughtConfig, encoder: Encoder) -> None:
        super().__init__(config, encoder)
        words, size, tokens = encoder.query.words, encoder.query.size, encoder.vocabulary.tokens
        self.start, self.end, self.unknown = tokens.cls, tokens.sep, tokens.unk
        self.before = _Decoder(words.embedding_dim, size, words.num_embeddings)
        self.after = _Decoder(words.embedding_dim, size, words.num_embeddings)

    def forward(self, encoder: Encoder, states: dict[str, Tensor], batch: StreamBatch) -> Loss:
        """−log p of a word, mean over the words of this device's neighbours; also the two decoders' own means.

        Of several devices each weighs alike; a neighbour on another device is left out.
        """
        first, vectors = int(batch["first"]), states["query"]
        mine = slice(first, first + len(vectors))
        documents, positions = batch["document_numbers"][mine], batch["positions"][mine]
        adjacent = (documents[1:] == documents[:-1]) & (positions[1:] - positions[:-1] == 1)
        left = adjacent.nonzero().squeeze(1)
        if not len(left):
            return Loss(vectors.sum() * 0.0)
        words, lengths = batch["words"]["input_ids"], batch["words"]["attention_mask"].sum(dim=1)
        losses = {}
        for name, decoder, source, target in (
            ("before", self.before, left + 1, left),
            ("after", self.after, left, left + 1),
        ):
            ids = known(words[target], encoder.query.words, self.unknown)
            read, said = self._packed(ids, lengths[target])
            losses[name] = decoder(read._replace(data=encoder.query.words(read.data)), vectors[source], said)
        return Loss(torch.stack([*losses.values()]).mean(), losses)

    def flops(self, batch: StreamBatch) -> Tensor:
        """Forward and backward FLOPs of both decoders, if every sentence had two neighbours of its own length."""
        return 6.0 * sum(p.numel() for p in self.parameters()) * row_lengths(batch["texts"]).sum()

    def _packed(self, ids: Tensor, lengths: Tensor) -> tuple[PackedSequence, Tensor]:
        """Words (N, T) → what a decoder reads, the start and then the words, and what it has to say: words and end."""
        read = nn.functional.pad(ids, (1, 0), value=self.start)
        said = nn.functional.pad(ids, (0, 1)).scatter(1, lengths[:, None], self.end)
        lengths = (lengths + 1).cpu()
        packed = pack_padded_sequence(read, lengths, batch_first=True, enforce_sorted=False)
        return packed, pack_padded_sequence(said, lengths, batch_first=True, enforce_sorted=False).data


class _Decoder(nn.Module):
    """A GRU and a softmax over all words."""

    def __init__(self, word_size: int, size: int, words: int) -> None:
        super().__init__()
        self.gru = nn.GRU(word_size, size)
        initialise_gru(self.gru)
        self.words = nn.Linear(size, words)
        nn.init.xavier_uniform_(self.words.weight)
        nn.init.zeros_(self.words.bias)

    def forward(self, read: PackedSequence, thoughts: Tensor, said: Tensor) -> Tensor:
        """Mean of −log p over the words `said` (words,) when reading `read`, from the vectors (N, D)."""
        states, _ = run_gru(self.gru, read, thoughts[None])
        return nn.functional.cross_entropy(self.words(states).float(), said)
