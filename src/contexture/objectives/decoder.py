"""A Transformer that writes a text from its vector, word by word."""

import torch
from torch import Tensor, nn


class TransformerDecoder(nn.Module):
    """Transformer layers that attend to the vector. Logits are products with the encoder's embeddings."""

    def __init__(self, words: nn.Embedding, size: int, layers: int, heads: int, max_length: int) -> None:
        """Create a decoder of at most `max_length` words from vectors of length `size`."""
        super().__init__()
        word_size = words.embedding_dim
        if word_size % heads:
            raise ValueError(f"the decoder's heads ({heads}) must divide {word_size}, the size of word embeddings")
        self.thought = nn.Linear(size, word_size)
        self.places = nn.Embedding(max_length, word_size)
        nn.init.normal_(self.places.weight, std=0.02)
        self.layers = nn.ModuleList(
            nn.TransformerDecoderLayer(word_size, heads, 4 * word_size, 0.0, batch_first=True) for _ in range(layers)
        )
        self.norm, self.bias = nn.LayerNorm(word_size), nn.Parameter(torch.zeros(words.num_embeddings))
        self.per_word = 6.0 * (sum(p.numel() for p in self.layers.parameters()) + words.weight.numel())

    def forward(
        self, words: nn.Embedding, inputs: Tensor, thoughts: Tensor, targets: Tensor, lengths: Tensor
    ) -> Tensor:
        """Return mean −log p of the words `targets` (N, T) given `inputs` (N, T) and vectors (N, D).

        `lengths` (N,) are the numbers of words that count.
        """
        width = inputs.shape[1]
        positions = torch.arange(width, device=inputs.device)
        ahead = positions[:, None] < positions  # padding comes last and needs no mask
        states, memory = words(inputs) + self.places(positions), self.thought(thoughts)[:, None]
        for layer in self.layers:
            states = layer(states, memory, tgt_mask=ahead, tgt_is_causal=True)
        counted = positions < lengths[:, None]
        logits = self.norm(states[counted]) @ words.weight.T + self.bias
        return nn.functional.cross_entropy(logits.float(), targets[counted])
