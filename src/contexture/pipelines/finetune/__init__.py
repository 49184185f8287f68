"""The stage `finetune`."""
