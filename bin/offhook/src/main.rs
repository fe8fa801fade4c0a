//! The `offhook` binary: settings, tracing, store, services, HTTP and workers put together. No rules live here.

mod cli;
mod client;
mod data_dir;
mod demo;
mod doctor;
mod health;
mod inbound;
mod links;
mod logging;
mod metrics;
mod output;
mod parts;
mod prelude;
mod receiver;
mod serve;
mod settings;
mod signals;
mod telemetry;
mod telephone;
mod tls;

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// Requests allocate on one thread and free on another; the system's allocator takes a quarter of a list's time.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Reading a strange file comes before all else: that child can open nothing once its limits are set, no runtime either.
fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    match (arguments.next().as_deref(), arguments.next()) {
        (Some(offhook_documents::COMMAND), Some(format)) => offhook_documents::serve_child(&format),
        _ => run(),
    }
}

#[tokio::main]
async fn run() -> ExitCode {
    let cli = match cli::Cli::of(std::env::args_os()) {
        Ok(cli) => cli,
        Err(error) => return cli::usage::refuse(&error),
    };
    match cli.run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is::<output::Exit>() => error
            .downcast_ref()
            .map_or(ExitCode::FAILURE, |output::Exit(code)| {
                ExitCode::from(*code)
            }),
        Err(error) => {
            // `{:#}` puts the causes behind the sentence, on its line.
            eprintln!("error: {}", output::printable(&format!("{error:#}")));
            ExitCode::FAILURE
        }
    }
}
