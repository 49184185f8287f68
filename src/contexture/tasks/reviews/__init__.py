"""Reviews told good from bad in languages in which nothing was learned (CMLM, section 4.5.2)."""
