//! The ear of one call over a WebSocket: what all such services share.

use futures_util::FutureExt as _;
use std::collections::VecDeque;
use std::time::Duration;

use offhook_engine::ports::audio::Frame;
use offhook_engine::ports::speech::{
    INPUTS_AHEAD, Recogniser, RecogniserEvent, RecogniserInput, SpeechError,
};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tokio_tungstenite::tungstenite::{Bytes, Message};

use super::Result;
use super::socket::{Came, Socket};
use super::sound::to_ulaw;

/// Events that may wait for the engine.
const EVENTS_AHEAD: usize = 64;

/// How long a service may take to answer that what was heard is wanted now. Published figures for the 99th percentile
/// are below half a second.
const FINALIZE_LIMIT: Duration = Duration::from_millis(1_500);

/// A service that leaves so many wishes unanswered, and says nothing else meanwhile, is gone, whatever TCP believes.
const UNANSWERED: u32 = 2;

/// Services close connections on which nothing is said; the tightest one after ten seconds.
const KEEP_ALIVE_AFTER: Duration = Duration::from_secs(4);

/// What a service's messages look like.
pub(super) trait Hearing: Send + 'static {
    /// 20 ms of sound, as µ-law unless the service wants it otherwise; no message, if it is to go with the next ones.
    fn frame(&mut self, frame: &Frame) -> Option<Message> {
        Some(Message::binary(to_ulaw(frame)))
    }

    /// What was heard so far is wanted now.
    fn finalize(&mut self) -> Message;

    /// The connection is to stay open while nothing is heard; a ping, where the service has no message for it.
    fn keep_alive(&mut self) -> Message {
        Message::Ping(Bytes::new())
    }

    /// Nothing more is to be heard.
    fn farewell(&mut self) -> Option<Message> {
        None
    }

    /// Understands a message of the service. A [`RecogniserEvent::Finalized`] that nobody waits for is left out.
    ///
    /// # Errors
    /// [`SpeechError`] if the service reports a failure, or nobody can read it.
    fn read(&mut self, text: &str, told: &mut Vec<RecogniserEvent>) -> Result<()>;

    /// A [`finalize`](Self::finalize) was not answered in time: tells what is known so far.
    fn unanswered(&mut self, told: &mut Vec<RecogniserEvent>);
}

/// Listens on this socket.
pub(super) fn listen(socket: Socket, hearing: impl Hearing) -> Recogniser {
    let (input, inputs) = mpsc::channel(INPUTS_AHEAD);
    let (events, told) = mpsc::channel(EVENTS_AHEAD);
    let ear = Ear {
        socket,
        hearing,
        inputs,
        events,
        unanswered: VecDeque::new(),
    };
    tokio::spawn(ear.run().boxed());
    Recogniser {
        input,
        events: told,
    }
}

struct Ear<H> {
    socket: Socket,
    hearing: H,
    inputs: mpsc::Receiver<RecogniserInput>,
    events: mpsc::Sender<RecogniserEvent>,
    /// Until when each `Finalize` is to be answered.
    unanswered: VecDeque<Instant>,
}

impl<H: Hearing> Ear<H> {
    async fn run(mut self) {
        match self.hear().await {
            Ok(()) => {
                // Nobody waits for more.
                drop(self.events);
                self.socket.close(self.hearing.farewell()).await;
            }
            Err(error) => {
                let _ = self.events.send(RecogniserEvent::Failed(error)).await;
            }
        }
    }

    /// Until the engine has heard enough, or the service fails.
    async fn hear(&mut self) -> Result<()> {
        let mut said_at = Instant::now();
        let mut told = Vec::new();
        // Wishes left unanswered since anything came.
        let mut ignored = 0;
        loop {
            let answer_by = self.unanswered.front().copied();
            let overdue = sleep_until(answer_by.unwrap_or(said_at));
            tokio::select! {
                () = self.events.closed() => return Ok(()),
                given = self.inputs.recv() => {
                    let message = match given {
                        None => return Ok(()),
                        Some(RecogniserInput::Frame(frame)) => self.hearing.frame(&frame),
                        // The service hears for itself when speech begins.
                        Some(RecogniserInput::SpeechBegan) => None,
                        Some(RecogniserInput::Finalize) => {
                            self.unanswered.push_back(Instant::now() + FINALIZE_LIMIT);
                            // Whoever is there answers this at least.
                            self.socket.send(Message::Ping(Bytes::new())).await?;
                            Some(self.hearing.finalize())
                        }
                    };
                    if let Some(message) = message {
                        self.socket.send(message).await?;
                        said_at = Instant::now();
                    }
                }
                came = self.socket.next() => {
                    let came = came?;
                    ignored = 0;
                    if let Came::Text(text) = came {
                        self.hearing.read(&text, &mut told)?;
                    }
                }
                () = overdue, if answer_by.is_some() => {
                    ignored += 1;
                    if ignored == UNANSWERED {
                        return Err(SpeechError::Timeout);
                    }
                    self.hearing.unanswered(&mut told);
                    told.push(RecogniserEvent::Finalized);
                }
                () = sleep_until(said_at + KEEP_ALIVE_AFTER) => {
                    let message = self.hearing.keep_alive();
                    self.socket.send(message).await?;
                    said_at = Instant::now();
                }
            }
            for event in told.drain(..) {
                if event == RecogniserEvent::Finalized && self.unanswered.pop_front().is_none() {
                    continue;
                }
                if self.events.send(event).await.is_err() {
                    return Ok(());
                }
            }
        }
    }
}
