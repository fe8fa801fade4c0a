//! Carrier adapters: the simulated phone network, in process ([`Simulator`]) and as a process of its own
//! ([`serve_simulator`], spoken to by [`RemoteSimulator`]).

mod simulator;

pub use simulator::client::{RemoteSimulator, UrlError};
pub use simulator::network::{Dial, Simulator};
pub use simulator::numbers::{Behaviour, OURS};
pub use simulator::server::{SimulatorSettings, serve as serve_simulator};

// Tests of the parts and from outside are one binary; the latter use the library as everybody does.
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;
