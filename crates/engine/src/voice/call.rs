//! The task of one spoken call: passes events to the turn-taking rules and carries out the effects.

use std::collections::VecDeque;
use std::time::Duration;

use offhook_media::ambient::Ambient;
use offhook_media::jitter::LEAST_WAIT;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::time::{Instant, sleep_until};

use super::SpokenSettings;
use super::gate::Gate;
use super::line::Command;
use super::speech_input::{RecognizerReport, SpeechInput};
use super::speech_output::SpeechOutput;
use super::turns::{Effect, End, Event, Report, Rules, Turns};
use crate::ports::LegEvent;
use crate::ports::audio::{AudioEvent, AudioLeg, Played, Recorder, SpeechDetector, Tick};
use crate::ports::speech::RecognizerEvent;

pub(super) struct Call {
    leg: AudioLeg,
    commands: mpsc::UnboundedReceiver<Command>,
    session: mpsc::Sender<LegEvent>,
    /// Events for the session, in order; the session may be busy writing to storage.
    backlog: VecDeque<LegEvent>,
    turns: Turns,
    speech_input: SpeechInput,
    speech_output: SpeechOutput,
    gate: Gate,
    detector: Box<dyn SpeechDetector>,
    ambient: Option<Ambient>,
    recorder: Option<Box<dyn Recorder>>,
    sentences: u64,
    epoch: Instant,
    ticks_end: bool,
    played_ends: bool,
}

enum Input {
    Command(Option<Command>),
    Forwarded,
    Line(Option<AudioEvent>),
    Played(Option<Played>),
    Recognized(RecognizerReport),
    VoiceFailed(u64),
    Tick(Option<Box<Tick>>),
    Time,
}

impl Call {
    pub(super) fn new(
        leg: AudioLeg,
        settings: SpokenSettings,
        commands: mpsc::UnboundedReceiver<Command>,
        session: mpsc::Sender<LegEvent>,
    ) -> Self {
        let abilities = settings
            .recognizers
            .iter()
            .map(|hearing| hearing.service.abilities());
        let rules = Rules {
            endpointing: settings.endpointing,
            heard_late: LEAST_WAIT,
            screens: settings.screens,
            // A feature counts only if all recognizers have it.
            partials: abilities.clone().all(|it| it.partials),
            turns: abilities.clone().all(|it| it.turns) && abilities.len() > 0,
        };
        let playout = std::sync::Arc::clone(&leg.playout);
        Self {
            leg,
            commands,
            session,
            backlog: VecDeque::new(),
            turns: Turns::new(rules),
            speech_input: SpeechInput::new(settings.recognizers),
            speech_output: SpeechOutput::new(settings.voices, playout, settings.pronunciation),
            gate: Gate::default(),
            detector: settings.detector,
            ambient: settings.ambient,
            recorder: settings.recorder,
            sentences: 0,
            epoch: Instant::now(),
            ticks_end: false,
            played_ends: false,
        }
    }

    /// Runs the call to its end. Dropping the leg hangs up.
    pub(super) async fn run(mut self) {
        while !self.turns.is_over() {
            let input = self.next().await;
            if self.handle(input).is_none() {
                return;
            }
        }
        // Deliver the remaining events.
        for event in std::mem::take(&mut self.backlog) {
            if self.session.send(event).await.is_err() {
                return;
            }
        }
    }

    async fn next(&mut self) -> Input {
        let wakes_at = self.turns.wakes_at().map(|at| self.epoch + at);
        let wakes = async {
            match wakes_at {
                Some(at) => sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            command = self.commands.recv() => Input::Command(command),
            permit = self.session.reserve(), if !self.backlog.is_empty() => {
                match (permit, self.backlog.pop_front()) {
                    (Ok(permit), Some(event)) => permit.send(event),
                    // The session is gone, so the commands end too.
                    _ => self.backlog.clear(),
                }
                Input::Forwarded
            }
            event = self.leg.events.recv() => Input::Line(event),
            played = self.leg.played.recv(), if !self.played_ends => Input::Played(played),
            report = self.speech_input.next() => Input::Recognized(report),
            id = self.speech_output.failed() => Input::VoiceFailed(id),
            tick = self.leg.ticks.recv(), if !self.ticks_end => Input::Tick(tick.map(Box::new)),
            () = wakes => Input::Time,
        }
    }

    /// `None` once the session has dropped the call.
    fn handle(&mut self, input: Input) -> Option<()> {
        match input {
            Input::Command(command) => self.obey(command?),
            Input::Forwarded => {}
            Input::Line(event) => self.signalled(event),
            Input::Played(Some(Played::Began(segment, at))) => {
                self.speech_output.began(segment.0, at);
                self.step(Event::Began(segment.0));
            }
            Input::Played(Some(Played::Ended(segment, _))) => {
                self.step(Event::Played(segment.0));
            }
            Input::Played(None) => self.played_ends = true,
            Input::Recognized(report) => self.recognized(report),
            Input::VoiceFailed(id) => self.step(Event::VoiceFailed(id)),
            Input::Tick(Some(tick)) => self.tick(&tick),
            Input::Tick(None) => self.ticks_end = true,
            Input::Time => self.step(Event::Time),
        }
        Some(())
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Say { text, done } => {
                self.sentences += 1;
                self.speech_output.queue(self.sentences, text, done);
                self.step(Event::Say(self.sentences));
            }
            Command::Stop => self.step(Event::Stop),
            Command::Prepare(text) => self.speech_output.prepare(&text),
            Command::Interruptible(may) => self.step(Event::Interruptible(may)),
            Command::HangUp => self.step(Event::Over(End::Silent)),
        }
    }

    fn signalled(&mut self, event: Option<AudioEvent>) {
        match event {
            Some(AudioEvent::Accepted) => self.forward(LegEvent::Accepted),
            Some(AudioEvent::Status(code)) => self.forward(LegEvent::Status(code)),
            Some(AudioEvent::Ringing) => {
                self.speech_output.warm_up();
                self.step(Event::Ringing);
            }
            // The call is unanswered: this sound is the network's.
            Some(AudioEvent::EarlyMedia) => {}
            Some(AudioEvent::Answered) => {
                if let Some(place) = self.ambient.take() {
                    self.leg.playout.set_background(place.sound());
                }
                self.speech_input.open();
                self.speech_output.warm_up();
                self.step(Event::Answered);
            }
            Some(AudioEvent::Screened(machine)) => self.step(Event::Screened { machine }),
            Some(AudioEvent::Dtmf(key)) => self.step(Event::Dtmf(key)),
            Some(AudioEvent::Hold(on)) => self.step(Event::Hold(on)),
            Some(AudioEvent::Hangup) => self.step(Event::Over(End::Hangup)),
            Some(AudioEvent::Failed(reason)) => self.step(Event::Over(End::Failed(reason))),
            None => self.step(Event::Over(End::Silent)),
        }
    }

    fn recognized(&mut self, report: RecognizerReport) {
        let event = match report {
            RecognizerReport::Event(RecognizerEvent::Partial(text)) => Event::Partial(text),
            RecognizerReport::Event(RecognizerEvent::Final(text)) => Event::Final(text),
            RecognizerReport::Event(RecognizerEvent::Finalized) => Event::Finalized,
            RecognizerReport::Event(RecognizerEvent::TurnEnded) => Event::TurnEnded,
            // Voice activity detection finds a start of speech sooner, and no reply starts on a guess.
            RecognizerReport::Event(_) => return,
            RecognizerReport::Opened(finalizes) => Event::RecognizerReplaced { finalizes },
            RecognizerReport::Failed => Event::RecognizerFailed,
        };
        self.step(event);
    }

    fn tick(&mut self, tick: &Tick) {
        if !self.turns.is_answered() {
            return;
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.record(tick);
        }
        let likelihood = self.detector.likelihood(&tick.heard);
        let speech = self.gate.is_speech(tick, likelihood);
        if self.turns.listens() {
            self.speech_input.push_frame(&tick.heard);
        }
        let lost = tick.lost;
        self.step(Event::Frame { speech, lost });
    }

    fn step(&mut self, event: Event) {
        let effects = self.turns.step(event, self.epoch.elapsed());
        // The session must learn that the customer speaks before it learns that its sentence was cut. Otherwise it
        // would continue its turn.
        for effect in &effects {
            if let Effect::Report(report) = effect {
                self.report(report.clone());
            }
        }
        for effect in effects {
            match effect {
                Effect::Report(_) => {}
                Effect::Speak(id) => self.speech_output.speak(id),
                Effect::Finish(id) => self.speech_output.finish(id),
                Effect::Cut(id) => self.speech_output.cut(id),
                Effect::Pause => self.leg.playout.pause(),
                Effect::Resume => self.leg.playout.resume(),
                Effect::SpeechBegan => self.speech_input.speech_began(),
                Effect::Finalize => self.speech_input.finalize(),
                Effect::Forget => self.speech_input.forget(),
            }
        }
    }

    fn report(&mut self, report: Report) {
        let event = match report {
            Report::Ringing => LegEvent::Ringing,
            Report::Answered => LegEvent::Answered { machine: false },
            Report::Screened {
                machine,
                heard,
                duration,
            } => LegEvent::Screened {
                machine,
                text: heard,
                duration_ms: millis(duration),
            },
            Report::CustomerStarted => LegEvent::CustomerStarted,
            Report::TurnOver {
                text,
                duration,
                spoke_until,
                interrupts,
            } => {
                self.speech_output.begin_turn();
                LegEvent::TurnOver {
                    text,
                    duration_ms: millis(duration),
                    spoke_until: self.epoch + spoke_until,
                    interrupts,
                }
            }
            Report::Held(on) => LegEvent::Held(on),
            Report::Hangup => LegEvent::Hangup,
            Report::Failed(reason) => LegEvent::Failed(reason),
        };
        self.forward(event);
    }

    fn forward(&mut self, event: LegEvent) {
        let unsent = if self.backlog.is_empty() {
            self.session.try_send(event).err()
        } else {
            Some(TrySendError::Full(event))
        };
        // A session that is gone drops the line too.
        if let Some(TrySendError::Full(event)) = unsent {
            self.backlog.push_back(event);
        }
    }
}

fn millis(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}
