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
        let command = super::named(
            std::env::args_os()
                .skip(1)
                .map(|word| word.to_string_lossy().into_owned()),
        );
        eprintln!("{}", sentence(&error.render().to_string(), &command));
    }
    if error.use_stderr() {
        ExitCode::from(USAGE)
    } else {
        ExitCode::SUCCESS
    }
}

/// The fault and the tips of the parser's text, without the usage that follows, on one line.
fn sentence(text: &str, command: &str) -> String {
    let mut parts = Vec::new();
    for paragraph in text.split("\n\n") {
        if paragraph.starts_with("Usage:") || paragraph.starts_with("For more information") {
            continue;
        }
        parts.extend(paragraph.split("\n  tip: ").map(line));
    }
    parts.push(format!("try `{command} --help`"));
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
    use super::super::Cli;
    use super::*;

    #[test]
    fn a_mistyped_command_is_answered_with_one_sentence() {
        for (command, message) in [
            (
                "offhook key create --scopes all",
                "error: the following required arguments were not provided: --account <ID>, --name <NAME>; \
                 try `offhook key create --help`",
            ),
            (
                "offhook account create --nam x",
                "error: unexpected argument '--nam' found; a similar argument exists: '--name'; try \
                 `offhook account create --help`",
            ),
            (
                "offhook srve",
                "error: unrecognized subcommand 'srve'; a similar subcommand exists: 'serve'; try `offhook --help`",
            ),
            (
                "offhook key revoke 12",
                "error: invalid value '12' for '<ID>': not a UUID (write it as 8-4-4-4-12 hexadecimal digits); try \
                 `offhook key revoke --help`",
            ),
        ] {
            let error = Cli::of(command.split(' ')).unwrap_err();
            let named = crate::cli::named(command.split(' ').map(str::to_owned));
            assert_eq!(sentence(&error.render().to_string(), &named), message);
        }
    }
}
