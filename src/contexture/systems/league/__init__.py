"""The league: every way to train an encoder beside every use of one."""
