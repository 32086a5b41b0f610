"""The agent's reports to the service, and the transport of reports and directives."""
