//! What is said to somebody who has mistyped a command: one sentence.

use std::process::ExitCode;

use clap::error::ErrorKind;

/// What a shell takes for a mistake in the command itself.
const USAGE: u8 = 2;

/// Prints the help or version that was asked for, or else why the command cannot be obeyed.
pub(crate) fn refuse(error: &clap::Error) -> ExitCode {
    let asks_for_help = matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    if asks_for_help {
        // Nobody is left to tell that it cannot be printed.
        let _ = error.print();
    } else {
        eprintln!("{}", sentence(&error.render().to_string()));
    }
    if error.use_stderr() {
        ExitCode::from(USAGE)
    } else {
        ExitCode::SUCCESS
    }
}

/// The fault and the tips of the parser's text, without the usage that follows, on one line.
fn sentence(text: &str) -> String {
    let mut parts = Vec::new();
    for paragraph in text.split("\n\n") {
        if paragraph.starts_with("Usage:") || paragraph.starts_with("For more information") {
            continue;
        }
        parts.extend(paragraph.split("\n  tip: ").map(line));
    }
    parts.push("--help shows how it is written".to_owned());
    parts.join("; ")
}

/// The lines of a paragraph as one; what is listed below a colon, with commas.
fn line(paragraph: &str) -> String {
    let mut lines = paragraph.trim().lines().map(str::trim);
    let first = lines.next().unwrap_or_default();
    let first = first.strip_prefix("tip: ").unwrap_or(first);
    let rest: Vec<&str> = lines.collect();
    if rest.is_empty() {
        return first.to_owned();
    }
    format!("{first} {}", rest.join(", "))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::super::Cli;
    use super::*;

    #[test]
    fn a_mistyped_command_is_answered_with_one_sentence() {
        for (command, said) in [
            (
                "offhook key create --scopes all",
                "error: the following required arguments were not provided: --account <ID>, --name <NAME>; --help \
                 shows how it is written",
            ),
            (
                "offhook account create --nam x",
                "error: unexpected argument '--nam' found; a similar argument exists: '--name'; --help shows how it \
                 is written",
            ),
            (
                "offhook srve",
                "error: unrecognized subcommand 'srve'; a similar subcommand exists: 'serve'; --help shows how it is \
                 written",
            ),
            (
                "offhook key revoke 12",
                "error: invalid value '12' for '<ID>': not a UUID (write it as 8-4-4-4-12 hexadecimal digits); --help \
                 shows how it is written",
            ),
        ] {
            let error = Cli::try_parse_from(command.split(' ')).unwrap_err();
            assert_eq!(sentence(&error.render().to_string()), said);
        }
    }
}
