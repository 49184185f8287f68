"""Two-tower retrieval by ICT, BFS and WLP (Chang et al., 2020)."""
