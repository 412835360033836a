"""What an application does beside moves: creates, recoveries, log directories, standing throttles; a judge for each."""
