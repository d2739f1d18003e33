"""From inotify and scans to dirty paths, and reading a file of the vault safely."""
