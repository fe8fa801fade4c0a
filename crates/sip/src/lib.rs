//! Calls over SIP trunks (RFC 3261), on `rsipstack`: signaling, and a carrier whose calls have audio.
//!
//! [`SipTrunks`] listens on UDP, TCP and TLS, places calls through a trunk ([`SipTrunks::call`]) and returns incoming
//! calls ([`Incoming`]). Session descriptions (RFC 8866) are text here; [`SipCarrier`] connects them with audio. One
//! task per call makes all decisions: it turns the stack's reports into [`SipEvent`]s, applies our [`Timers`], ends the
//! call in whatever state it is, and removes its dialog from the stack.
//!
//! - A call's [handle](offhook_domain::CallHandle) is the local part of its Call-ID, so one handle is one call.
//! - Callers are accepted by address ([`TrunkSettings::allowed_sources`]) or by digest authentication (RFC 8760).
//! - Keys arrive as [`SipEvent::Digit`] when sent by INFO; telephone-events (RFC 4733) are part of the audio.
//! - Transfers are REFERs (RFC 3515) with the carrier's progress reports; a final status becomes a
//!   [`FailureReason`](offhook_domain::FailureReason) by [`failure_reason`], with the Q.850 cause (RFC 3326) beside it.
//!
//! Two endpoints on one machine, and a call from one to the other:
//!
//! ```
//! use offhook_sip::{Invite, Listen, SipEvent, SipSettings, SipTrunks, Transport, TrunkSettings};
//!
//! const SDP: &str = "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n\
//!     m=audio 40000 RTP/AVP 0\r\n";
//!
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let listen = || SipSettings::new(vec![Listen::on(Transport::Udp, ([127, 0, 0, 1], 0).into())]);
//! let trunk = |name: &str, server: String| TrunkSettings {
//!     name: name.to_owned(),
//!     server,
//!     allowed_sources: vec!["127.0.0.1".to_owned()],
//!     ..TrunkSettings::default()
//! };
//! let callers = trunk("callers", "127.0.0.1:5060".to_owned()).check()?;
//! let (callee, mut incoming) = SipTrunks::start(listen(), vec![callers]).await?;
//!
//! let carrier = trunk("carrier", callee.addresses()[0].to_string()).check()?;
//! let (caller, _) = SipTrunks::start(listen(), vec![carrier]).await?;
//! let invite = Invite {
//!     handle: "call_01900000-0000-7000-8000-000000000001".parse()?,
//!     from: "+15005550100".parse()?,
//!     to: "+5215512345678".parse()?,
//!     offer: SDP.to_owned(),
//! };
//! let mut call = caller.call("carrier", invite).await?;
//!
//! let ringing = incoming.recv().await.ok_or("no call")?;
//! assert_eq!(ringing.to, "+5215512345678");
//! let mut answered = ringing.answer(SDP.to_owned());
//! while !matches!(call.next().await, Some(SipEvent::Answered { sdp: Some(_) })) {}
//!
//! call.control().hang_up().await;
//! while !matches!(answered.next().await, Some(SipEvent::Hangup)) {}
//! # Ok::<(), Box<dyn std::error::Error>>(()) })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![warn(missing_docs)]

mod call;
mod carrier;
mod challenge;
mod dialog;
mod digest;
mod endpoint;
mod gate;
mod health;
mod inbound;
mod listen;
mod outbound;
mod outcome;
mod reach;
mod saved;
mod settings;
mod trunk;

pub use call::{CallControl, Reply, SipCall, SipEvent, TransferError};
pub use carrier::{AnswerError, SipCarrier, SoundSettings};
pub use endpoint::{CallError, Invite, SipTrunks};
pub use health::NoAnswer;
pub use inbound::{Incoming, Refusal};
pub use listen::StartError;
pub use outcome::{Failure, failure_reason};
pub use saved::EndError;
pub use settings::{Listen, SipSettings, Timers, Transport};
pub use trunk::{SettingsError, Trunk, TrunkSettings};

// Unit and integration tests share one binary; the integration tests use the public API only.
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;
