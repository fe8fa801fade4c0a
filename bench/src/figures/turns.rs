//! What a spoken turn takes: providers without latency, the engine over SIP and RTP on the loopback. The other side notes
//! when packets leave and come.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::Bench;
use crate::calls::{Agent, Called, ENDPOINTING_MS, Options};
use crate::child::{Child, Role};
use crate::pairs::percentile;
use crate::phone::{Bye, Callee, Heard, Line, Sound, Speech, Taken, WORD_FRAMES};
use crate::report::{Report, Target, number};

const CALLS: usize = 20;

/// Words of a reply that is to be interrupted: 6 s.
const LONG: usize = 30;

/// Turns of each kind in a call.
const PLAIN: usize = 4;
const INTERRUPTED: usize = 3;
const COUGHS: usize = 2;

/// How long the agent has been heard when somebody speaks: behind its own first 300 ms, which count as its echo.
const INTO_IT: Duration = Duration::from_secs(1);

/// A pause of the agent: packets of a sentence follow each other in 20 ms.
const PAUSED: Duration = Duration::from_millis(100);

/// How long a call may take to begin, and to end once the other side has hung up.
const PATIENCE: Duration = Duration::from_secs(20);

/// What came of one call's turns, in milliseconds.
#[derive(Default)]
struct Measured {
    answered: Vec<f64>,
    silenced: Vec<f64>,
    /// Frames that were heard twice, not at all, or in the wrong place.
    wrong: usize,
    resumed: usize,
    lost: u64,
}

pub(super) async fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let calls = bench.calls.unwrap_or(CALLS);
    let mut replies = vec![1; PLAIN];
    replies.extend([LONG, 1].repeat(INTERRUPTED));
    replies.extend([LONG].repeat(COUGHS));
    let agent = Agent::Counting {
        replies,
        ends_turns: false,
    };
    let (measured, called) = held(calls, agent, talk).await?;
    let mut all = Measured::default();
    for one in measured {
        all.answered.extend(one.answered);
        all.silenced.extend(one.silenced);
        all.wrong += one.wrong;
        all.resumed += one.resumed;
        all.lost += one.lost;
    }
    ensure!(all.resumed > 0, "the agent never paused for a noise");
    let detail = format!(
        "{}; {} frames lost",
        spread(&mut all.answered),
        all.lost + called.pumped.lost
    );
    report.add(
        "end of the caller's speech to the first audible frame, p95",
        Target::AtMost((ENDPOINTING_MS + 60) as f64),
        percentile(&all.answered, 0.95),
        " ms",
        &format!("{ENDPOINTING_MS} of which the agent waits; {detail}"),
    );
    let detail = spread(&mut all.silenced);
    report.add(
        "barge-in: first packet of speech to the last audible frame, p95",
        Target::AtMost(250.0),
        percentile(&all.silenced, 0.95),
        " ms",
        &detail,
    );
    let heard = all.resumed * LONG * WORD_FRAMES;
    report.add(
        "frames repeated or left out where the agent went on",
        Target::AtMost(0.0),
        all.wrong as f64,
        "",
        &format!("{} resumes in {heard} frames of words", all.resumed),
    );

    let agent = Agent::Counting {
        replies: vec![1; PLAIN],
        ends_turns: true,
    };
    let (_, mut called) = held(calls, agent, talk_plainly).await?;
    let detail = spread(&mut called.added_ms);
    report.add(
        "added by the engine between the providers' events, p95",
        Target::AtMost(15.0),
        percentile(&called.added_ms, 0.95),
        " ms",
        &format!("from the recogniser's end of turn to the first sound in the queue; {detail}"),
    );
    Ok(())
}

/// Sorts times and tells the rest of them.
fn spread(times: &mut [f64]) -> String {
    times.sort_by(f64::total_cmp);
    let at = |share| number(percentile(times, share));
    format!("p50 {}, most {} of {}", at(0.5), at(1.0), times.len())
}

/// Holds so many calls at once with a process that calls; what both sides say of them.
async fn held<T, F>(
    calls: usize,
    agent: Agent,
    talk: impl Fn(Line) -> F,
) -> anyhow::Result<(Vec<T>, Called)>
where
    T: Send + 'static,
    F: Future<Output = anyhow::Result<T>> + Send + 'static,
{
    let mut callee = Callee::start().await?;
    let mut child = Child::start(&Role::Calls(Options {
        callee: callee.address,
        calls,
        apart: Duration::from_millis(50),
        agent,
        recordings: None,
    }))?;
    let _: String = child.said().await?;
    let mut talks = JoinSet::new();
    for number in 0..calls {
        let taken = timeout(PATIENCE, callee.taken()).await;
        let taken = taken.context("a call did not begin")??;
        let (line, bye) = open(taken, number, calls);
        let talking = talk(line);
        talks.spawn(async move {
            let said = talking.await;
            bye.send().await?;
            said
        });
    }
    let mut measured = Vec::new();
    while let Some(talked) = talks.join_next().await {
        measured.push(talked??);
    }
    let called = timeout(PATIENCE, child.said::<Called>()).await;
    let called = called.context("calls did not end")??;
    ensure!(called.faults.is_empty(), "{:?}", called.faults);
    child.stop().await?;
    Ok((measured, called))
}

/// The line of a call. Lines begin in different places of the other side's 20 ms, which would else be the same one for
/// all: the answer starts both clocks.
fn open(taken: Taken, number: usize, calls: usize) -> (Line, Bye) {
    let apart = Duration::from_micros(20_000 * number as u64 / calls as u64);
    let (socket, to, bye) = taken.into_sound();
    let begins = Instant::now() + Duration::from_millis(20) + apart;
    (Line::new(socket, to, begins), bye)
}

async fn talk(mut line: Line) -> anyhow::Result<Measured> {
    let (phrase, cough) = (Speech::phrase(), Speech::cough());
    let mut measured = Measured::default();
    line.silent(Duration::from_millis(600)).await?;
    for _ in 0..PLAIN {
        measured.answered.push(ask(&mut line).await?.0);
        line.heard_out().await?;
    }
    for _ in 0..INTERRUPTED {
        let (took, _) = ask(&mut line).await?;
        measured.answered.push(took);
        line.silent(INTO_IT).await?;
        let (first, last) = line.say(&phrase).await?;
        // The reply comes behind the turn's end; all before it is what was interrupted.
        let silent_since = line.last_sound().context("the agent was not heard")?;
        measured.silenced.push(ms(silent_since - first));
        let answered = line.answered(last).await?;
        measured.answered.push(ms(answered - last));
        line.heard_out().await?;
    }
    for _ in 0..COUGHS {
        let (took, began) = ask(&mut line).await?;
        measured.answered.push(took);
        line.silent(INTO_IT).await?;
        line.say(&cough).await?;
        line.heard_out().await?;
        let heard: Vec<Heard> = line.heard.drain(..).filter(|it| it.at >= began).collect();
        measured.resumed += pauses(&heard);
        measured.wrong += wrong(&heard);
    }
    measured.lost = line.came.lost();
    Ok(measured)
}

async fn talk_plainly(mut line: Line) -> anyhow::Result<()> {
    line.silent(Duration::from_millis(600)).await?;
    for _ in 0..PLAIN {
        ask(&mut line).await?;
        line.heard_out().await?;
    }
    Ok(())
}

/// Says something; how long the answer took, and when it began.
async fn ask(line: &mut Line) -> anyhow::Result<(f64, Instant)> {
    line.forget();
    let (_, last) = line.say(&Speech::phrase()).await?;
    let answered = line.answered(last).await?;
    Ok((ms(answered - last), answered))
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn pauses(heard: &[Heard]) -> usize {
    let sounds: Vec<Instant> = heard
        .iter()
        .filter(|heard| heard.sound != Sound::Silence)
        .map(|heard| heard.at)
        .collect();
    let gaps = sounds.windows(2).filter(|pair| pair[1] - pair[0] >= PAUSED);
    gaps.count()
}

/// Frames of a long reply that are not where they belong: each word has so many, one after the other.
fn wrong(heard: &[Heard]) -> usize {
    let words = heard.iter().filter_map(|heard| match heard.sound {
        Sound::Word(word) => Some(word),
        Sound::Silence | Sound::Other => None,
    });
    let words: Vec<usize> = words.collect();
    let right = (0..LONG).flat_map(|word| [word; WORD_FRAMES]);
    let misplaced = words.iter().zip(right).filter(|(is, ought)| **is != *ought);
    misplaced.count() + words.len().abs_diff(LONG * WORD_FRAMES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_that_is_repeated_or_missing_is_wrong() {
        let at = Instant::now();
        let heard = |words: &[usize]| -> Vec<Heard> {
            let sounds = words.iter().map(|word| Sound::Word(*word));
            sounds.map(|sound| Heard { at, sound }).collect()
        };
        let right: Vec<usize> = (0..LONG).flat_map(|word| [word; WORD_FRAMES]).collect();
        assert_eq!(wrong(&heard(&right)), 0);
        assert!(wrong(&heard(&right[1..])) > 0);
        let repeated = [&right[..200], &right[199..]].concat();
        assert!(wrong(&heard(&repeated)) > 0);
    }
}
