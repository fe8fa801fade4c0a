//! Holds a sentence that claims a completed action until a tool has carried one out.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::claims::{ANY, claimed};
use crate::phrases::phrases;
use crate::ports::{ToolCall, ToolDefinition};

/// What a conversation's tools have done, and what the agent has said about it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Vouchers {
    /// A tool has acted, and the agent has not spoken to the customer since.
    acted: bool,
    /// Kinds of action that the agent has said are done. It may say so again.
    said: u8,
    /// How many of the tools' actions the agent has not named yet.
    unsaid: u32,
}

impl Vouchers {
    /// Tools have carried out this many actions.
    pub(crate) const fn acted(&mut self, actions: u32) {
        self.acted |= actions > 0;
        self.unsaid = self.unsaid.saturating_add(actions);
    }

    /// The agent has said this. The guard let it pass, or its author wrote it.
    pub(crate) fn said(&mut self, text: &str, language: &str) {
        let claimed = claimed(text, language);
        if claimed != 0 {
            self.unsaid = self.unsaid.saturating_sub(self.unknown(claimed));
            self.said |= claimed | ANY;
        }
    }

    /// The customer has answered what the agent said.
    pub(crate) const fn answered(&mut self) {
        self.acted = false;
    }

    const fn unknown(&self, claimed: u8) -> u32 {
        (claimed & !self.said & !ANY).count_ones()
    }

    const fn cover(&self, claimed: u8) -> bool {
        let is_known = self.said != 0 || self.unsaid > 0;
        self.acted || is_known && self.unknown(claimed) <= self.unsaid
    }
}

/// Whether the call is to one of these tools that act.
pub(crate) fn acts(tools: &[ToolDefinition], call: &ToolCall) -> bool {
    let mut acting = tools.iter().filter(|tool| tool.acts);
    acting.any(|tool| *tool.name == *call.name)
}

/// Looks at each sentence of a reply.
pub(crate) struct Guard {
    pub(crate) language: String,
    pub(crate) vouchers: Vouchers,
    pub(crate) tools: Arc<[ToolDefinition]>,
    /// Whether tool calls may follow the text.
    pub(crate) may_call: bool,
    /// Sentences from the first claim on, until the reply is complete.
    pub(crate) held: VecDeque<String>,
    /// A claim was replaced in this reply.
    pub(crate) has_replaced: bool,
    /// The sentence goes on whose beginning was left out.
    pub(crate) skips: bool,
}

/// What becomes of a sentence.
pub(crate) enum Verdict {
    Said(String),
    Replaced(String),
    /// It comes later, or not at all.
    Held,
    Dropped,
}

impl Guard {
    pub(crate) fn judge(&mut self, sentence: String) -> Verdict {
        if !self.held.is_empty() || self.may_call && self.is_unproven(&sentence) {
            self.held.push_back(sentence);
            return Verdict::Held;
        }
        self.decide(sentence)
    }

    /// The next sentence that was held, now that the reply is complete with these calls.
    pub(crate) fn release(&mut self, calls: &[ToolCall]) -> Option<Verdict> {
        let sentence = self.held.pop_front()?;
        // The model speaks again once the tools have answered.
        if calls.iter().any(|call| acts(&self.tools, call))
            && (self.skips || self.is_unproven(&sentence))
        {
            self.skips = !is_ended(&sentence);
            return Some(Verdict::Dropped);
        }
        Some(self.decide(sentence))
    }

    fn decide(&mut self, sentence: String) -> Verdict {
        if !self.skips && !self.is_unproven(&sentence) {
            return Verdict::Said(sentence);
        }
        let goes_on = std::mem::replace(&mut self.skips, !is_ended(&sentence));
        if goes_on || std::mem::replace(&mut self.has_replaced, true) {
            return Verdict::Dropped;
        }
        let blank = sentence.len() - sentence.trim_start().len();
        let honest = phrases(&self.language).unproven;
        Verdict::Replaced(format!("{}{honest}", &sentence[..blank]))
    }

    fn is_unproven(&self, sentence: &str) -> bool {
        // The list of patterns is asked only where its answer matters.
        !self.vouchers.acted && {
            let claimed = claimed(sentence, &self.language);
            claimed != 0 && !self.vouchers.cover(claimed)
        }
    }
}

/// Whether a sentence ends here. The first one of a reply may be cut at a comma.
fn is_ended(sentence: &str) -> bool {
    !sentence.trim_end().ends_with([',', ';', ':', '–', '—'])
}
