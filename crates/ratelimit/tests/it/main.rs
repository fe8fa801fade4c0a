//! The rate limits as their users see them.

mod client_ip;
mod gcra;
mod header;
mod memory;
mod model;
mod overflow;
mod window;
