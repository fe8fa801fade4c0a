//! The other side of spoken calls: it takes calls over SIP on a loopback port, sends and receives RTP, and notes when
//! packets left and arrived.

mod callee;
mod line;
mod speech;

pub(crate) use callee::Callee;
pub(crate) use line::{Came, Line};
pub(crate) use speech::phrase;
