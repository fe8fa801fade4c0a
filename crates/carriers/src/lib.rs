//! Carrier adapters: the simulated phone network, in process ([`Simulator`]) and as a separate process
//! ([`serve_simulator`], with [`RemoteSimulator`] as its client).

mod simulator;

pub use simulator::client::{RemoteSimulator, UrlError};
pub use simulator::network::{Dial, Simulator};
pub use simulator::numbers::{Behaviour, SHARED_NUMBER};
pub use simulator::server::{SimulatorSettings, serve as serve_simulator};

// Unit and integration tests share one binary; the integration tests use the public API only.
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;
