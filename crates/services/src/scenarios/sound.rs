//! A conversation of a scenario by sound: the caller's lines, written or a model's, are spoken by the agent's voice, or a
//! recorded caller is played again, and the agent's ear listens.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _};
use offhook_domain::{
    AccountId, CallOutcome, Channel, ConversationId, EndedBy, TerminationReason, TurnRole,
};
use offhook_engine::ports::audio::{FRAME_SAMPLES, SAMPLE_RATE};
use offhook_engine::ports::speech::{SpeechPiece, SpokenText, Synthesizer};
use offhook_media::wav::HEADER_LEN;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use super::format::{CallerLine, Scenario};
use super::mocks::Recorded;
use super::persona::PlayedCaller;
use super::play::{AnswerTime, Played, SaidLine, Stood, Subject, names, staged};
use crate::Refusal;
use crate::error::{Result, UseCaseError};
use crate::talks::{Talk, TalkEvent};
use crate::trials::{Ready, Trials};

/// How long the agent is quiet before the caller speaks.
const PAUSE: Duration = Duration::from_millis(800);

/// How long the caller waits for an agent that says nothing, and for the answer to the last line.
const PATIENCE: Duration = Duration::from_secs(6);

/// How long a voice may take for a line.
const SPOKEN_WITHIN: Duration = Duration::from_secs(20);

/// Sound above this is no silence.
const LOUD: u16 = 200;

/// Samples of a caller's line at most.
const LINE_SAMPLES: usize = 60 * SAMPLE_RATE as usize;

/// Who calls.
enum Caller {
    Lines(Vec<SpokenLine>),
    /// One side of a recording, from its beginning.
    Tape(Vec<i16>),
}

/// A line with its sound.
type SpokenLine = (CallerLine, Vec<i16>);

/// A persona, whose lines are made while the conversation goes on.
struct Improvising<'a> {
    played_by: &'a (PlayedCaller, Voice),
    /// The next line, and whether it is the last one, if it is being made.
    next: Option<BoxFuture<'a, Option<(SpokenLine, bool)>>>,
    /// How many more may be made.
    left: usize,
}

/// Holds the conversation. Fails if it cannot begin.
pub(super) async fn play_by_sound(
    trials: &Trials,
    subject: &Subject<'_>,
    scenario: &Scenario,
) -> Result<Stood> {
    let account = subject.account;
    // Refused before anything is spoken; the conversation takes a slot of its own.
    drop(trials.0.slot()?);
    let mut ready = staged(trials, subject, scenario, Channel::WidgetVoice).await?;
    if !ready.providers.can_speak(&ready.config) {
        return Err(UseCaseError::Conflict(Refusal::SpeechUnavailable));
    }
    let played_by;
    let mut improvising = None;
    let caller = match (scenario.recording, &scenario.turns) {
        (Some(id), _) => Caller::Tape(tape(trials, (account, id), scenario.budget_s).await?),
        (None, Some(lines)) => {
            let voice = Voice::open(trials, account, &ready).await?;
            Caller::Lines(voice.speak_all(lines, scenario.budget_s).await?)
        }
        (None, None) => {
            let caller = PlayedCaller::new(scenario, &ready, &trials.0.clock);
            played_by = (caller, Voice::open(trials, account, &ready).await?);
            improvising = Some(Improvising {
                played_by: &played_by,
                next: None,
                left: usize::try_from(scenario.max_turns).unwrap_or(1),
            });
            Caller::Lines(Vec::new())
        }
    };
    let budget = Duration::from_secs(scenario.budget_s.unsigned_abs());
    ready.persona.max_duration = ready.persona.max_duration.min(budget);
    let names = names(&*ready.tools);
    let tools = Arc::new(Recorded::over(ready.tools.clone()));
    ready.tools = tools.clone();
    let agent = Arc::new(ready.persona.clone());
    let providers = ready.providers.clone();
    let (_, noted) = mpsc::unbounded_channel();
    let mut talk = trials.speak(account, ready, noted, None).await?;
    let mut line = Line::new(caller, scenario.noise_db, &tools);
    line.improvising = improvising;
    let mut played = line.hold(&mut talk, budget).await;
    played.tools = std::mem::take(&mut *tools.used.lock());
    Ok(Stood {
        played,
        models: providers.models.clone(),
        latencies: providers.latencies.clone(),
        agent,
        tools: names,
    })
}

/// The agent's voice.
struct Voice(Box<dyn Synthesizer>);

impl Voice {
    async fn open(trials: &Trials, account: AccountId, ready: &Ready) -> Result<Self> {
        let failed = || UseCaseError::Conflict(Refusal::SpeechUnavailable);
        let store = &trials.0.store;
        let voices = ready.providers.keyed_voices(store, account, &ready.config);
        let voice = voices.await.into_iter().next().ok_or_else(failed)?;
        let (provider, settings) = voice.map_err(|_| failed())?;
        let found = ready.providers.speech.synthesizer(&provider, &settings);
        let voice = found.map_err(|_| failed())?.open(settings).await;
        Ok(Self(voice.map_err(|_| failed())?))
    }

    /// The sound of a text; `None` if it cannot be spoken.
    async fn speak(&self, text: &str) -> Option<Vec<i16>> {
        let mut pieces = self.0.speak(SpokenText {
            text: text.to_owned(),
            before: String::new(),
        });
        let gathered = async {
            let mut samples = Vec::new();
            while let Some(piece) = pieces.next().await {
                if let SpeechPiece::Audio(more) = piece.ok()? {
                    samples.extend(more);
                }
                if samples.len() > LINE_SAMPLES {
                    break;
                }
            }
            Some(samples)
        };
        timeout(SPOKEN_WITHIN, gathered).await.ok().flatten()
    }

    /// Lines with their sound. What the time does not suffice for is not paid for.
    async fn speak_all(&self, lines: &[CallerLine], budget_s: i64) -> Result<Vec<SpokenLine>> {
        let most = usize::try_from(budget_s).unwrap_or(0) * SAMPLE_RATE as usize;
        let (mut spoken, mut all) = (0, Vec::with_capacity(lines.len()));
        for line in lines {
            if spoken > most {
                break;
            }
            let samples = self.speak(&line.say).await;
            let samples = samples.ok_or(UseCaseError::Conflict(Refusal::SpeechUnavailable))?;
            spoken += samples.len();
            all.push((line.clone(), samples));
        }
        Ok(all)
    }
}

/// The caller's side of a recording.
async fn tape(
    trials: &Trials,
    (account, id): (AccountId, ConversationId),
    budget_s: i64,
) -> Result<Vec<i16>> {
    let gone = || UseCaseError::Conflict(Refusal::NoTape);
    let recordings = &trials.0.recordings;
    let found = recordings.find(account, id).await;
    let found = found.ok().flatten().ok_or_else(gone)?;
    let header = usize::try_from(HEADER_LEN).unwrap_or(0);
    let seconds = usize::try_from(budget_s).unwrap_or(0);
    let most = (header + 4 * seconds * SAMPLE_RATE as usize) as u64;
    let content = found.part(0, found.bytes.min(most)).await;
    let mut content = content.ok().flatten().ok_or_else(gone)?;
    let mut bytes = Vec::new();
    while let Some(piece) = content.next().await {
        bytes.extend_from_slice(&piece.map_err(|_| gone())?);
    }
    let word = |at: usize| {
        bytes
            .get(at..at + 2)
            .map(|two| u16::from_le_bytes([two[0], two[1]]))
    };
    let is_ours =
        word(22) == Some(2) && word(34) == Some(16) && word(24) == Some(SAMPLE_RATE as u16);
    if !is_ours {
        return Err(gone());
    }
    let frames = bytes.get(header..).unwrap_or_default().chunks_exact(4);
    Ok(frames
        .map(|one| i16::from_le_bytes([one[0], one[1]]))
        .collect())
}

/// The caller's end of the line.
struct Line<'a> {
    caller: Caller,
    improvising: Option<Improvising<'a>>,
    tools: &'a Recorded,
    /// The loudest sample of the noise.
    noise: f64,
    seed: u32,
    begun: Instant,
    /// The line that is spoken or was the last, and how many of its samples are sent.
    at: usize,
    sent: usize,
    speaks: bool,
    /// When the caller's last line ended.
    caller_ended: Instant,
    /// Since when the agent speaks, if it does, and when it was last heard.
    agent_since: Option<Instant>,
    agent_heard: Option<Instant>,
    /// The agent has answered the last line.
    answered: bool,
    played: Played,
}

impl<'a> Line<'a> {
    fn new(caller: Caller, noise_db: Option<i64>, tools: &'a Recorded) -> Self {
        // The peak of even noise is above its mean power by the root of 3.
        let loud = |db: i64| 32_768.0 * 10_f64.powf(db as f64 / 20.0) * 3_f64.sqrt();
        let now = Instant::now();
        Self {
            caller,
            improvising: None,
            tools,
            noise: noise_db.map_or(0.0, loud),
            seed: 0x9E37_79B9,
            begun: now,
            at: 0,
            sent: 0,
            speaks: false,
            caller_ended: now,
            agent_since: None,
            agent_heard: None,
            answered: false,
            played: Played::new(),
        }
    }

    async fn hold(mut self, talk: &mut Talk, budget: Duration) -> Played {
        let mut frames = interval(Duration::from_millis(20));
        frames.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut is_over = false;
        loop {
            tokio::select! {
                biased;
                event = talk.next() => match event {
                    TalkEvent::Ended(outcome) => {
                        match outcome {
                            _ if is_over => {}
                            Some(CallOutcome::Completed(TerminationReason::AgentHangup)) => {
                                self.played.ended_by = EndedBy::Agent;
                            }
                            Some(CallOutcome::Completed(_)) => {
                                self.played.ended_by = EndedBy::Limit;
                                self.played.is_cut = true;
                            }
                            Some(CallOutcome::Failed(_)) | None => self.played.no_reply = true,
                        }
                        return self.played;
                    }
                    event => self.heard(event),
                },
                made = self.made(), if !is_over => {
                    if !self.take(made) {
                        self.played.no_reply = true;
                        is_over = true;
                        talk.hang_up();
                    }
                }
                _ = frames.tick(), if !is_over => {
                    let now = Instant::now();
                    if let Some(by) = self.end(now, budget) {
                        self.played.ended_by = by;
                        self.played.is_cut = by == EndedBy::Limit;
                        is_over = true;
                        talk.hang_up();
                        continue;
                    }
                    let frame = self.frame(now);
                    let _ = talk.hear(&frame);
                }
            }
        }
    }

    fn heard(&mut self, event: TalkEvent) {
        let now = Instant::now();
        match event {
            TalkEvent::Sound(bytes) => {
                let mut samples = bytes.chunks_exact(2);
                let is_loud =
                    samples.any(|two| i16::from_le_bytes([two[0], two[1]]).unsigned_abs() > LOUD);
                if !is_loud {
                    return;
                }
                if self.agent_since.is_none() {
                    self.agent_since = Some(now);
                    if !std::mem::replace(&mut self.answered, true) && self.at > 0 && !self.speaks {
                        self.played.answers.push(AnswerTime {
                            turn: self.at,
                            first_text_ms: Some(millis(now - self.caller_ended)),
                            ms: millis(now - self.caller_ended),
                        });
                    }
                }
                self.agent_heard = Some(now);
            }
            TalkEvent::Clear => self.agent_since = None,
            TalkEvent::Turn {
                is_agent,
                text,
                is_cut,
                unproven,
            } => {
                self.played.claims_replaced += unproven;
                let role = if is_agent {
                    TurnRole::Agent
                } else {
                    TurnRole::User
                };
                self.note(role, text, is_cut);
            }
            TalkEvent::Tool(text) => self.note(TurnRole::Tool, text, false),
            TalkEvent::Passages(_) | TalkEvent::Measured(_) | TalkEvent::Ended(_) => {}
        }
    }

    fn note(&mut self, role: TurnRole, text: String, interrupted: bool) {
        self.played.transcript.push(SaidLine {
            role,
            text,
            turn: self.at,
            at_ms: Some(millis(self.begun.elapsed())),
            interrupted,
        });
    }

    /// Whether the caller hangs up now.
    fn end(&self, now: Instant, budget: Duration) -> Option<EndedBy> {
        if now - self.begun >= budget {
            return Some(EndedBy::Limit);
        }
        let (is_said, waits) = match &self.caller {
            Caller::Lines(lines) => {
                let made = self.improvising.as_ref();
                let are_all = made.is_none_or(|made| made.left == 0);
                (self.at == lines.len() && !self.speaks && are_all, PATIENCE)
            }
            Caller::Tape(samples) => (self.sent >= samples.len(), PATIENCE / 2),
        };
        let is_answered = self.answered && self.is_quiet(now, 2 * PAUSE);
        let is_left = now - self.caller_ended >= waits && self.is_quiet(now, waits);
        (is_said && (is_answered || is_left)).then_some(EndedBy::Caller)
    }

    fn is_quiet(&self, now: Instant, length: Duration) -> bool {
        self.agent_heard.is_none_or(|heard| now - heard >= length)
    }

    /// Whether it is the caller's turn to say this line, or one that is not made yet.
    fn may_speak(&self, line: Option<&CallerLine>, now: Instant) -> bool {
        let length = |ms: i64| Duration::from_millis(ms.unsigned_abs());
        let pause = line.and_then(|line| line.pause_ms).map_or(PAUSE, length);
        let has_waited = now - self.caller_ended >= PATIENCE.max(pause);
        let interrupts = line.and_then(|line| line.interrupts_after_ms);
        match (interrupts.map(length), self.agent_since) {
            (Some(after), Some(since)) => now - since >= after,
            (Some(_), None) => has_waited,
            (None, _) => {
                let heard = self.agent_heard;
                let was_answered = heard.is_some_and(|heard| heard > self.caller_ended);
                self.is_quiet(now, pause) && (was_answered || has_waited)
            }
        }
    }

    /// Has the persona's next line made, unless it is under way or there are no more.
    fn improvise(&mut self) {
        let (Caller::Lines(lines), Some(made)) = (&self.caller, &mut self.improvising) else {
            return;
        };
        if made.left == 0 || made.next.is_some() {
            return;
        }
        // What the persona said is known better than what the agent's ear made of it.
        let mut said = Vec::new();
        for turn in 0..=self.at {
            let own = turn.checked_sub(1).and_then(|at| lines.get(at));
            said.extend(own.map(|(line, _)| (TurnRole::User, line.say.clone())));
            let heard = self.played.transcript.iter();
            let heard = heard.filter(|line| line.turn == turn && line.role == TurnRole::Agent);
            said.extend(heard.map(|line| (line.role, line.text.clone())));
        }
        let (caller, voice) = made.played_by;
        let next = async move {
            let (text, is_last) = caller.says(said).await?;
            let samples = match text.as_str() {
                "" => Vec::new(),
                text => voice.speak(text).await?,
            };
            Some(((CallerLine::of(text), samples), is_last))
        };
        made.next = Some(next.boxed());
    }

    /// The persona's next line; `None` if it could not be made.
    async fn made(&mut self) -> Option<(SpokenLine, bool)> {
        let next = self.improvising.as_mut();
        match next.and_then(|made| made.next.as_mut()) {
            Some(next) => next.await,
            None => std::future::pending().await,
        }
    }

    /// Takes a persona's line; `false` if there is none.
    fn take(&mut self, made: Option<(SpokenLine, bool)>) -> bool {
        let (Caller::Lines(lines), Some(improvising), Some((line, is_last))) =
            (&mut self.caller, &mut self.improvising, made)
        else {
            return false;
        };
        improvising.next = None;
        improvising.left = match is_last {
            true => 0,
            false => improvising.left - 1,
        };
        if !line.0.say.is_empty() {
            lines.push(line);
        }
        true
    }

    /// The next 20 ms of the caller, at the page's rate.
    fn frame(&mut self, now: Instant) -> Vec<u8> {
        if self.is_quiet(now, PAUSE / 2) {
            self.agent_since = None;
        }
        if let Caller::Lines(lines) = &self.caller
            && !self.speaks
        {
            let line = lines.get(self.at).map(|(line, _)| line);
            match (self.may_speak(line, now), line) {
                (true, Some(_)) => {
                    self.at += 1;
                    (self.sent, self.speaks, self.answered) = (0, true, false);
                    self.tools.turn.store(self.at, Ordering::Relaxed);
                    self.played.lines = self.at;
                }
                (true, None) => self.improvise(),
                (false, _) => {}
            }
        }
        let samples: &[i16] = match &self.caller {
            Caller::Tape(samples) => samples,
            Caller::Lines(lines) if self.speaks => {
                lines.get(self.at - 1).map_or(&[], |(_, all)| all)
            }
            Caller::Lines(_) => &[],
        };
        let next = samples.get(self.sent..).unwrap_or_default();
        let next = &next[..next.len().min(FRAME_SAMPLES)];
        let mut frame = [0_i16; FRAME_SAMPLES];
        frame[..next.len()].copy_from_slice(next);
        let is_loud = next.iter().any(|sample| sample.unsigned_abs() > LOUD);
        self.sent += next.len();
        if matches!(self.caller, Caller::Tape(_)) {
            // On a tape nobody says where a line ends.
            if is_loud {
                if self.at == 0 || now - self.caller_ended >= PAUSE {
                    self.at += 1;
                    self.tools.turn.store(self.at, Ordering::Relaxed);
                    self.played.lines = self.at;
                }
                (self.caller_ended, self.answered) = (now, false);
            }
        } else if self.speaks && self.sent >= samples.len() {
            (self.speaks, self.caller_ended) = (false, now);
        }
        let mut wire = Vec::with_capacity(FRAME_SAMPLES * 4);
        for sample in frame {
            let noisy = f64::from(sample) + self.random() * self.noise;
            let noisy = noisy.clamp(-32_768.0, 32_767.0) as i16;
            // The page speaks at twice the rate of the line.
            wire.extend_from_slice(&noisy.to_le_bytes());
            wire.extend_from_slice(&noisy.to_le_bytes());
        }
        wire
    }

    /// The next of a fixed series of numbers from -1 to 1, so that two runs hear the same noise.
    fn random(&mut self) -> f64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 17;
        self.seed ^= self.seed << 5;
        f64::from(self.seed) / f64::from(u32::MAX) * 2.0 - 1.0
    }
}

fn millis(length: Duration) -> u32 {
    u32::try_from(length.as_millis()).unwrap_or(u32::MAX)
}
