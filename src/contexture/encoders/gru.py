"""A GRU over words (Quick-Thoughts, section 3)."""

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from contexture.encoders.config import GruConfig
from contexture.encoders.layout import Batch
from contexture.encoders.network import Network, known
from contexture.encoders.packed_gru import run_gru
from contexture.vocabulary.tokenizers import SpecialTokens


class Gru(Network):
    """A GRU of one layer, in one or both directions; the last states are the vector."""

    def __init__(self, config: GruConfig, words: nn.Embedding, tokens: SpecialTokens) -> None:
        super().__init__(tokens)
        self.words, self.size = words, config.embedding_size
        units = config.embedding_size // (1 + config.bidirectional)
        self.gru = nn.GRU(words.embedding_dim, units, bidirectional=config.bidirectional)
        initialise_gru(self.gru)

    def forward(self, batch: Batch) -> Tensor:
        """Batch of `word_layout` → vectors (B, D)."""
        lengths = batch["attention_mask"].sum(dim=1)
        packed = pack_padded_sequence(batch["input_ids"], lengths.cpu(), batch_first=True, enforce_sorted=False)
        words = self.words(known(packed.data, self.words, self.tokens.unk))
        _, last = run_gru(self.gru, packed._replace(data=words))
        return last.transpose(0, 1).flatten(1)

    def flops(self, lengths: Tensor) -> Tensor:
        """Forward and backward FLOPs of the layer for texts of `lengths` (B,) words."""
        return 6.0 * sum(p.numel() for p in self.gru.parameters()) * lengths.sum()


def initialise_gru(gru: nn.GRU) -> None:
    """Xavier uniform for each gate's matrices, 1 for one of the two biases of reset and update gates (section 4.3)."""
    size = gru.hidden_size
    for name, parameter in gru.named_parameters():
        if name.startswith("weight"):
            for gate in torch.split(parameter, size):
                nn.init.xavier_uniform_(gate)
        else:
            nn.init.zeros_(parameter)
            if name.startswith("bias_ih"):
                nn.init.ones_(parameter[: 2 * size])
