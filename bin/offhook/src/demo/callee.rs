//! The customer of a spoken demo: a telephone of this process at the other end of the trunk. It answers each call, says
//! its lines one by one, each when the agent has spoken, and hangs up behind the agent's last words.

use std::convert::Infallible;
use std::net::Ipv4Addr;

use futures_util::StreamExt as _;
use offhook_engine::ports::audio::{AudioEvent, AudioLeg, Frame, Played, SegmentId};
use offhook_engine::ports::speech::{
    Speech as _, SpeechPiece, SpokenText, TextToSpeech, VoiceSettings,
};
use offhook_media::ports::{PortRange, Ports};
use offhook_media::pump::Latch;
use offhook_providers::{SpeechProvider, SpeechRegistry};
use offhook_sip::{
    Incoming, Listen, SipCarrier, SipSettings, SipTrunks, SoundSettings, Transport, TrunkSettings,
};
use tokio::sync::mpsc;

use crate::prelude::*;

/// The trunk as this side calls it. Nothing is ever sent to its server: it only answers.
const TRUNK: &str = "demo";

/// A frame that is this loud on average has words in it.
const LOUD: i32 = 200;

/// Frames without words behind which the agent has finished: 0.9 s, longer than a voice pauses between two sentences.
const QUIET_FRAMES: u32 = 45;

/// How long the agent may take to say something.
const AGENT_LIMIT: Duration = Duration::from_secs(30);

/// A telephone that is plugged in.
pub(super) struct Callee {
    carrier: SipCarrier,
    incoming: mpsc::Receiver<Incoming>,
    address: SocketAddr,
    /// What it says, as sound.
    lines: Vec<Vec<i16>>,
}

impl Callee {
    /// Listens on a port of its own, and has its lines spoken by `voice` of `provider`.
    pub(super) async fn plug_in(
        speech: &BTreeMap<String, SpeechProvider>,
        provider: &str,
        voice: &str,
        texts: Vec<String>,
    ) -> anyhow::Result<Self> {
        let trunk = TrunkSettings {
            name: TRUNK.to_owned(),
            server: Ipv4Addr::LOCALHOST.to_string(),
            ..TrunkSettings::default()
        };
        let listen = Listen::on(Transport::Udp, (Ipv4Addr::LOCALHOST, 0).into());
        let (trunks, incoming) =
            SipTrunks::start(SipSettings::new(vec![listen]), vec![trunk.check()?]).await?;
        let address = trunks.addresses().first().copied();
        let sound = SoundSettings {
            bind: Ipv4Addr::LOCALHOST.into(),
            external: None,
            ports: Ports::new(PortRange::new(42_000, 42_999)?),
            latch: Latch::default(),
        };
        let settings = VoiceSettings {
            voice_id: voice.to_owned(),
            model: String::new(),
            language: "en".to_owned(),
            speed: 1.0,
            settings: "{}".into(),
            key: None,
        };
        let registry = SpeechRegistry::new(speech.clone())?;
        let voice = registry.synthesizer(provider, &settings)?;
        let mut lines = Vec::new();
        for text in texts {
            lines.push(spoken(&*voice, &settings, text).await?);
        }
        Ok(Self {
            carrier: SipCarrier::new(Arc::new(trunks), TRUNK, sound)?,
            incoming,
            address: address.context("the telephone has no address")?,
            lines,
        })
    }

    /// Where it is.
    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers one call after the other.
    pub(super) async fn talk(&mut self) -> anyhow::Result<Infallible> {
        loop {
            let call = self
                .incoming
                .recv()
                .await
                .context("the telephone is gone")?;
            call.ring(None);
            let mut leg = self.carrier.answer(call).await?;
            converse(&mut leg, &self.lines).await?;
            leg.signalling.hang_up().await;
        }
    }
}

/// A text as sound.
async fn spoken(
    voice: &dyn TextToSpeech,
    settings: &VoiceSettings,
    text: String,
) -> anyhow::Result<Vec<i16>> {
    let mouth = voice.open(settings.clone()).await?;
    let text = SpokenText {
        text,
        before: String::new(),
    };
    let mut pieces = mouth.speak(text);
    let mut samples = Vec::new();
    while let Some(piece) = pieces.next().await {
        if let SpeechPiece::Audio(more) = piece.context("making the customer's speech")? {
            samples.extend(more);
        }
    }
    Ok(samples)
}

async fn converse(leg: &mut AudioLeg, lines: &[Vec<i16>]) -> anyhow::Result<()> {
    for (number, line) in (1..).zip(lines) {
        let segment = SegmentId(number);
        leg.playout.enqueue(segment, line);
        leg.playout.finish(segment);
        let speaking = timeout(AGENT_LIMIT, is_said(leg, segment)).await;
        speaking.context("the customer could not finish a sentence")??;
        let heard = timeout(AGENT_LIMIT, hears_out(leg)).await;
        let Ok(heard) = heard else {
            bail!("the agent said nothing for {} s", AGENT_LIMIT.as_secs());
        };
        heard?;
    }
    Ok(())
}

/// Waits until a sentence is sent.
async fn is_said(leg: &mut AudioLeg, segment: SegmentId) -> anyhow::Result<()> {
    loop {
        tokio::select! {
            played = leg.played.recv() => match played {
                Some(Played::Ended(ended, _)) if ended == segment => return Ok(()),
                Some(_) => {}
                None => bail!("the line is gone"),
            },
            // What is not read piles up.
            tick = leg.ticks.recv() => ensure!(tick.is_some(), "the line is gone"),
            event = leg.events.recv() => is_up(event)?,
        }
    }
}

/// Waits until the agent has said something, and then nothing for a while.
async fn hears_out(leg: &mut AudioLeg) -> anyhow::Result<()> {
    let mut quiet = None;
    loop {
        tokio::select! {
            tick = leg.ticks.recv() => {
                let tick = tick.context("the line is gone")?;
                quiet = match quiet {
                    _ if is_loud(&tick.heard) => Some(0),
                    Some(frames) if frames > QUIET_FRAMES => return Ok(()),
                    quiet => quiet.map(|frames| frames + 1),
                };
            }
            event = leg.events.recv() => is_up(event)?,
        }
    }
}

fn is_up(event: Option<AudioEvent>) -> anyhow::Result<()> {
    let over = matches!(
        event,
        None | Some(AudioEvent::Hangup | AudioEvent::Failed(_))
    );
    ensure!(
        !over,
        "the agent hung up before the customer had said everything"
    );
    Ok(())
}

fn is_loud(frame: &Frame) -> bool {
    let sum: i32 = frame.iter().map(|&sample| i32::from(sample).abs()).sum();
    sum > LOUD * i32::try_from(frame.len()).unwrap_or(i32::MAX)
}
