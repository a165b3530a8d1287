"""Results: the parts that a schedule is made of: attempts, places, proof, figures of merit, workflows."""
