//! Calls against SIPp, an independent user agent, and against sockets that send invalid messages.
#![cfg(test)]

mod cancel;
mod inbound;
mod left;
mod middle;
mod peer;
mod sipp;
mod sound;
mod support;
mod talk;
mod trunks;
