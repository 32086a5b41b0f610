"""What the agent reports to the service, and how reports and directives travel."""
