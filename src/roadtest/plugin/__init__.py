"""What the pytest plugin is made of; ``roadtest.pytest_plugin`` imports it only when there is an eval to run."""
