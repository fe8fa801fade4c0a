//! Shared code of recognizers over a WebSocket, one connection per call.

use futures_util::FutureExt as _;
use std::collections::VecDeque;
use std::time::Duration;

use offhook_engine::ports::audio::Frame;
use offhook_engine::ports::speech::{
    INPUTS_AHEAD, Recognizer, RecognizerEvent, RecognizerInput, SpeechError,
};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tokio_tungstenite::tungstenite::{Bytes, Message};

use super::Result;
use super::socket::{Received, Socket};
use super::sound::to_ulaw;

/// Events that may wait for the engine.
const EVENTS_AHEAD: usize = 64;

/// Limit for a service's answer to a finalize request. Published 99th percentiles are below half a second.
const FINALIZE_LIMIT: Duration = Duration::from_millis(1_500);

/// A service with this many unanswered finalize requests and no other message is gone, whatever TCP reports.
const UNANSWERED: u32 = 2;

/// Services close idle connections; the strictest one after ten seconds.
const KEEP_ALIVE_AFTER: Duration = Duration::from_secs(4);

/// A service's message format.
pub(crate) trait RecognizerProtocol: Send + 'static {
    /// 20 ms of audio, as µ-law unless the service needs another format; `None` to send it with later frames.
    fn frame(&mut self, frame: &Frame) -> Option<Message> {
        Some(Message::binary(to_ulaw(frame)))
    }

    /// Requests the results so far.
    fn finalize(&mut self) -> Message;

    /// Keeps the connection open during silence; a ping, if the service has no message for it.
    fn keep_alive(&mut self) -> Message {
        Message::Ping(Bytes::new())
    }

    /// The last message before the connection closes.
    fn farewell(&mut self) -> Option<Message> {
        None
    }

    /// Parses a message of the service. An unrequested [`RecognizerEvent::Finalized`] is dropped. Fails if the message
    /// is unreadable or reports a failure.
    fn read(&mut self, text: &str, events: &mut Vec<RecognizerEvent>) -> Result<()>;

    /// A [`finalize`](Self::finalize) got no answer in time: reports what is known so far.
    fn unanswered(&mut self, events: &mut Vec<RecognizerEvent>);
}

/// Starts a recognizer on this socket.
pub(crate) fn listen(socket: Socket, protocol: impl RecognizerProtocol) -> Recognizer {
    let (input, inputs) = mpsc::channel(INPUTS_AHEAD);
    let (events, received) = mpsc::channel(EVENTS_AHEAD);
    let task = SpeechInput {
        socket,
        protocol,
        inputs,
        events,
        unanswered: VecDeque::new(),
    };
    tokio::spawn(task.run().boxed());
    Recognizer {
        input,
        events: received,
    }
}

struct SpeechInput<H> {
    socket: Socket,
    protocol: H,
    inputs: mpsc::Receiver<RecognizerInput>,
    events: mpsc::Sender<RecognizerEvent>,
    /// The deadline of each pending `Finalize`.
    unanswered: VecDeque<Instant>,
}

impl<H: RecognizerProtocol> SpeechInput<H> {
    async fn run(mut self) {
        match self.serve().await {
            Ok(()) => {
                // The engine needs no more results.
                drop(self.events);
                self.socket.close(self.protocol.farewell()).await;
            }
            Err(error) => {
                let _ = self.events.send(RecognizerEvent::Failed(error)).await;
            }
        }
    }

    /// Runs until the engine closes its input, or the service fails.
    async fn serve(&mut self) -> Result<()> {
        let mut sent_at = Instant::now();
        let mut reported = Vec::new();
        // Unanswered finalize requests since the last message.
        let mut ignored = 0;
        loop {
            let answer_by = self.unanswered.front().copied();
            let overdue = sleep_until(answer_by.unwrap_or(sent_at));
            tokio::select! {
                () = self.events.closed() => return Ok(()),
                input = self.inputs.recv() => {
                    let message = match input {
                        None => return Ok(()),
                        Some(RecognizerInput::Frame(frame)) => self.protocol.frame(&frame),
                        // The service detects the start of speech itself.
                        Some(RecognizerInput::SpeechBegan) => None,
                        Some(RecognizerInput::Finalize) => {
                            self.unanswered.push_back(Instant::now() + FINALIZE_LIMIT);
                            // A service that is alive answers at least the ping.
                            self.socket.send(Message::Ping(Bytes::new())).await?;
                            Some(self.protocol.finalize())
                        }
                    };
                    if let Some(message) = message {
                        self.socket.send(message).await?;
                        sent_at = Instant::now();
                    }
                }
                received = self.socket.next() => {
                    let received = received?;
                    ignored = 0;
                    if let Received::Text(text) = received {
                        self.protocol.read(&text, &mut reported)?;
                    }
                }
                () = overdue, if answer_by.is_some() => {
                    ignored += 1;
                    if ignored == UNANSWERED {
                        return Err(SpeechError::Timeout);
                    }
                    self.protocol.unanswered(&mut reported);
                    reported.push(RecognizerEvent::Finalized);
                }
                () = sleep_until(sent_at + KEEP_ALIVE_AFTER) => {
                    let message = self.protocol.keep_alive();
                    self.socket.send(message).await?;
                    sent_at = Instant::now();
                }
            }
            for event in reported.drain(..) {
                if event == RecognizerEvent::Finalized && self.unanswered.pop_front().is_none() {
                    continue;
                }
                if self.events.send(event).await.is_err() {
                    return Ok(());
                }
            }
        }
    }
}
