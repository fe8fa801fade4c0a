//! Scenarios: what is checked, and what came of it.

use crate::agent::vocabulary;

vocabulary! {
    /// What a check of a scenario looks at.
    CheckKind {
        /// The agent said it.
        Said => "said",
        /// The agent did not say it.
        NeverSaid => "never_said",
        /// A tool was called.
        ToolCalled => "tool_called",
        /// A tool was not called.
        ToolNeverCalled => "tool_never_called",
        /// Tools were called one after the other.
        ToolsInOrder => "tools_in_order",
        /// Who ended the conversation, and when.
        Ended => "ended",
        /// How long answers took.
        Latency => "latency",
        /// What was extracted fits a schema.
        Analysis => "analysis",
        /// The agent claimed nothing that no tool had done.
        Honest => "honest",
        /// A model's verdict.
        Judge => "judge",
    }
}

vocabulary! {
    /// Who ended the conversation of a scenario.
    EndedBy {
        /// The agent, with its tool.
        Agent => "agent",
        /// The caller: the lines are said, or the goal is reached or out of reach.
        Caller => "caller",
        /// A limit: of lines or of time.
        Limit => "limit",
    }
}

vocabulary! {
    /// What came of a scenario, of a run or of a check.
    TestStatus {
        /// It is under way.
        Running => "running",
        /// All checks passed.
        Passed => "passed",
        /// A check failed.
        Failed => "failed",
        /// A conversation could not be held or judged.
        Error => "error",
        /// The process that held it ended.
        Interrupted => "interrupted",
        /// Somebody ended it.
        Cancelled => "cancelled",
    }
}

impl TestStatus {
    /// The status in Spanish.
    #[must_use]
    pub const fn in_spanish(self) -> &'static str {
        match self {
            Self::Running => "En curso",
            Self::Passed => "Aprobada",
            Self::Failed => "Reprobada",
            Self::Error => "Con error",
            Self::Interrupted => "Interrumpida",
            Self::Cancelled => "Cancelada",
        }
    }
}

vocabulary! {
    /// What came of a check.
    CheckResult {
        /// It is so.
        Pass => "pass",
        /// It is not so.
        Fail => "fail",
        /// The model could not decide. This is no pass.
        Unsure => "unsure",
        /// It could not be looked at.
        Error => "error",
    }
}

vocabulary! {
    /// A language in which something is said (ISO 639-1).
    SaidLanguage {
        /// Arabic.
        Arabic => "ar",
        /// German.
        German => "de",
        /// English.
        English => "en",
        /// Spanish.
        Spanish => "es",
        /// French.
        French => "fr",
        /// Hindi.
        Hindi => "hi",
        /// Italian.
        Italian => "it",
        /// Japanese.
        Japanese => "ja",
        /// Korean.
        Korean => "ko",
        /// Dutch.
        Dutch => "nl",
        /// Portuguese.
        Portuguese => "pt",
        /// Russian.
        Russian => "ru",
        /// Swedish.
        Swedish => "sv",
        /// Turkish.
        Turkish => "tr",
        /// Vietnamese.
        Vietnamese => "vi",
        /// Chinese.
        Chinese => "zh",
    }
}
