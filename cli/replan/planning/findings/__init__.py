"""What a snapshot, or a plan beside it, shows by itself: drift, health, risks, brokers' shares. Nothing is decided."""
