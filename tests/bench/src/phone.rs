//! The other side of spoken calls: it is called over SIP on a loopback port, speaks and listens in RTP, and notes when
//! packets left and came.

mod callee;
mod line;
mod speech;

pub(crate) use callee::Callee;
pub(crate) use line::{Came, Line};
pub(crate) use speech::phrase;
