//! Webhook delivery: claim, guard against private targets, send, retry on schedule.

pub mod sender;
