"""Learning orders from simulated trials: scores by permutation, and polynomials fitted to them."""
