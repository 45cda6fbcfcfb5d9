"""What people are told of changes on their way: pure, from rollouts and plans to notices, one for each cause."""
