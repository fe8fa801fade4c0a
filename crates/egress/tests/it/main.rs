//! The guard against private targets.

#[cfg(test)]
mod addresses;
#[cfg(test)]
mod client;
#[cfg(test)]
mod dialing;
#[cfg(test)]
mod resolving;
#[cfg(test)]
mod targets;
