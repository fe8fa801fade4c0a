//! Webhook delivery.

#[cfg(test)]
mod connections;
#[cfg(test)]
mod receiver;
#[cfg(test)]
mod sender;
