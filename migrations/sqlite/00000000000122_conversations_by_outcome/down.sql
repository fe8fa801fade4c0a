DROP INDEX conversations_outcome;
