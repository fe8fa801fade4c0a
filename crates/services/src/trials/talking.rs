//! A draft that is spoken with from the page of its editor.

use async_trait::async_trait;
use offhook_engine::ports::{Carrier, DialRequest};
use offhook_engine::voice::SpokenCarrier;
use offhook_engine::{
    CallControl, CallSink, ClaimLost, Deadline, EndRequest, Moment, Session, SessionEnd, Turn,
    TurnLatency, run,
};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tracing::Instrument as _;

use super::{Draft, Place, Ready, Stage, TrialNote, Trials};
use crate::clock::CallClock;
use crate::dialer::{CameIn, NO_NUMBER};
use crate::error::Result;
use crate::prelude::*;
use crate::spoken::{Direction, on_a_spoken_line};
use crate::talks::{Talk, TalkEvent, Waiting};

/// The longest trial.
const LONGEST: Duration = Duration::from_secs(600);

/// How long the page's line may take to open.
const OPENS_WITHIN: Duration = Duration::from_secs(10);

/// Events that may wait for the page.
const WAITING: usize = 256;

#[boxed]
impl Trials {
    /// Starts to talk with the draft.
    pub async fn talk(&self, caller: &Caller, draft: &Draft) -> Result<Talk> {
        let (shared, account) = (&self.0, caller.account.id);
        let place = Place::take(&self.1, account)?;
        // Refused while the page waits for it; the trial takes a slot of its own.
        drop(shared.slot()?);
        let (notes, noted) = mpsc::unbounded_channel();
        let stage = Stage::of_trial(Channel::WidgetVoice, notes);
        let ready = self.prepare(account, draft, stage).await?;
        self.speak(account, ready, noted, Some(place)).await
    }

    /// Starts to talk with what is ready, beside the trials that have a place.
    pub(crate) async fn speak(
        &self,
        account: AccountId,
        mut ready: Ready,
        noted: mpsc::UnboundedReceiver<TrialNote>,
        place: Option<Place>,
    ) -> Result<Talk> {
        let shared = &self.0;
        let providers = ready.providers.clone();
        if !providers.can_speak(&ready.config) {
            return Err(UseCaseError::Conflict(Refusal::SpeechUnavailable));
        }
        let settings = providers
            .spoken(
                &shared.store,
                account,
                &ready.config,
                Direction::Inbound,
                None,
            )
            .await
            .map_err(|_| UseCaseError::Conflict(Refusal::SpeechUnavailable))?;
        ready.persona.max_duration = ready.persona.max_duration.min(LONGEST);
        let longest = seconds(ready.persona.max_duration);
        let day = self.count(account, [0, longest, 0]).await?;
        let unresampled = || StoreError::Internal("sound cannot be resampled".to_owned());
        let (page, line) = offhook_browser::page().ok_or_else(unresampled)?;
        let network = Arc::new(CameIn::new(Box::new(Waiting(line))));
        let carrier: Arc<dyn Carrier> = Arc::new(SpokenCarrier::new(network, settings));
        let id: ConversationId = mint(shared.clock.now());
        let nobody: E164 = NO_NUMBER.parse().map_err(|_| unresampled())?;
        let persona = Arc::new(on_a_spoken_line(ready.persona));
        let session = Session {
            carrier,
            dial: DialRequest {
                handle: CallHandle(id),
                from: nobody.clone(),
                to: nobody,
                node: shared.node,
                screens: false,
                longest: Some(persona.max_duration),
            },
            dial_by: Deadline::after(Moment::now(), OPENS_WITHIN),
            persona,
            models: providers.models.clone(),
            latencies: providers.latencies.clone(),
            tools: ready.tools,
            knowledge: ready.knowledge,
            clock: Arc::new(CallClock::of(shared.clock.clone())),
        };
        let (events, news) = mpsc::channel(WAITING);
        let trial = Trial {
            trials: self.clone(),
            events,
            counted: (day, longest),
            _place: place,
        };
        let span = tracing::info_span!("trial", account = %account);
        shared
            .live
            .chats
            .spawn(trial.run(account, session, noted).instrument(span));
        Ok(Talk::new(id, page, news))
    }
}

/// A spoken trial under way.
struct Trial {
    trials: Trials,
    events: mpsc::Sender<TalkEvent>,
    /// The day, and the seconds that were counted for it.
    counted: (i32, i32),
    _place: Option<Place>,
}

impl Trial {
    async fn run(
        self,
        account: AccountId,
        session: Session,
        mut noted: mpsc::UnboundedReceiver<TrialNote>,
    ) {
        let (shared, control) = (self.trials.0.clone(), CallControl::new());
        let begun = Instant::now();
        // Beside the calls of this process, until it ends.
        let _slot = shared.live.registry.keep(1, shared.calls.sessions_at_most);
        let sink = Sink(self.events.clone());
        let end = {
            let running = run(session, &sink, &control);
            tokio::pin!(running);
            loop {
                tokio::select! {
                    end = &mut running => break end,
                    Some(note) = noted.recv() => sink.note(note),
                    () = shared.live.chats.hurry().cancelled() => {
                        control.end(EndRequest::Drain);
                        break (&mut running).await;
                    }
                }
            }
        };
        let outcome = match end {
            SessionEnd::Ended { outcome, .. } => outcome,
            SessionEnd::ClaimLost => CallOutcome::Failed(FailureReason::Interrupted),
        };
        let _ = self.events.try_send(TalkEvent::Ended(Some(outcome)));
        let (day, counted) = self.counted;
        let unused = seconds(begun.elapsed()).min(counted) - counted;
        let most = [i32::MAX; 3];
        let back = shared.store.count_trial(account, day, [0, unused, 0], most);
        if let Err(error) = back.await {
            tracing::warn!(%error, "the unused seconds of a trial are not given back");
        }
    }
}

fn seconds(length: Duration) -> i32 {
    i32::try_from(length.as_secs_f64().ceil() as i64).unwrap_or(i32::MAX)
}

struct Sink(mpsc::Sender<TalkEvent>);

impl Sink {
    /// A page that does not read loses events, but not its conversation.
    fn tell(&self, event: TalkEvent) {
        let _ = self.0.try_send(event);
    }

    fn note(&self, note: TrialNote) {
        self.tell(match note {
            TrialNote::Turn(turn) => TalkEvent::of(turn),
            TrialNote::Passages(passages) => TalkEvent::Passages(passages),
        });
    }
}

#[async_trait]
impl CallSink for Sink {
    async fn carrier_reported(&self) -> Result<(), ClaimLost> {
        Ok(())
    }

    async fn answered(&self, _at: Timestamp) -> Result<(), ClaimLost> {
        Ok(())
    }

    async fn turn(&self, turn: Turn) -> Result<(), ClaimLost> {
        self.tell(TalkEvent::of(turn));
        Ok(())
    }

    fn measured(&self, latency: &TurnLatency) {
        self.tell(TalkEvent::Measured(*latency));
    }
}
