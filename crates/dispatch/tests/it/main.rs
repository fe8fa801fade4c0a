//! Webhook delivery.

#[cfg(test)]
mod changes;
#[cfg(test)]
mod connections;
#[cfg(test)]
mod dispatcher;
#[cfg(test)]
mod hook;
#[cfg(test)]
mod receiver;
#[cfg(test)]
mod sender;
#[cfg(test)]
mod world;
