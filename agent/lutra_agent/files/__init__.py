"""Small files, written so that a crash leaves the old one or the new one."""
