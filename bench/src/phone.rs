//! The other side of spoken calls: it is called over SIP on a loopback port, speaks and listens in RTP, and notes when
//! packets left and came.

mod callee;
mod line;
mod speech;

pub(crate) use callee::{Bye, Callee, Event, Taken};
pub(crate) use line::{Heard, Line, Sound};
pub(crate) use speech::{Speech, WORD_FRAMES, frame_of_word};
