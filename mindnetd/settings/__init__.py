"""Reading, writing and showing the configuration; where files go."""
