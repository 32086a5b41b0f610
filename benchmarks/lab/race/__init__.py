"""The race on real servers: the recommender and its peers spend the same trials, then all finalists are measured."""
