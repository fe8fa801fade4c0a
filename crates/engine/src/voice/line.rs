//! The session's handle of a spoken call.

use std::sync::Arc;

use async_trait::async_trait;
use offhook_domain::E164;
use tokio::sync::{mpsc, oneshot};

use crate::ports::audio::Signalling;
use crate::ports::{Line, LineError, Spoken};

/// A command of the session to a spoken call.
pub(super) enum Command {
    Say {
        text: String,
        done: oneshot::Sender<Spoken>,
    },
    Stop,
    Prepare(String),
    Interruptible(bool),
    HangUp,
}

/// A line that speaks texts.
pub(super) struct SpokenLine {
    pub(super) commands: mpsc::UnboundedSender<Command>,
    pub(super) signalling: Arc<dyn Signalling>,
    pub(super) screens: bool,
}

impl SpokenLine {
    /// A call that is over takes no commands, and needs none.
    fn ask(&self, command: Command) {
        let _ = self.commands.send(command);
    }
}

#[async_trait]
impl Line for SpokenLine {
    async fn say(&self, text: &str) -> Spoken {
        let (done, spoken) = oneshot::channel();
        let text = text.to_owned();
        self.ask(Command::Say { text, done });
        spoken.await.unwrap_or_default()
    }

    fn prepare(&self, text: &str) {
        self.ask(Command::Prepare(text.to_owned()));
    }

    fn stop_speaking(&self) {
        self.ask(Command::Stop);
    }

    fn set_interruptible(&self, may: bool) {
        self.ask(Command::Interruptible(may));
    }

    fn screens(&self) -> bool {
        self.screens
    }

    fn is_spoken(&self) -> bool {
        true
    }

    async fn transfer(&self, to: &E164) -> Result<(), LineError> {
        self.signalling.transfer(to).await
    }

    async fn send_digits(&self, digits: &str) -> Result<(), LineError> {
        self.signalling.send_digits(digits).await
    }

    async fn hang_up(&self) {
        self.ask(Command::HangUp);
        self.signalling.hang_up().await;
    }
}
