"""The league: all training objectives compared on all uses of encoders."""
