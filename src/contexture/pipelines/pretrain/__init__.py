"""The stage `pretrain`."""
