//! Sends lakebed's log events to Python's `logging`, under the logger `lakebed` and its children.

use std::fmt::Write;

use pyo3::prelude::*;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

/// Sends this process's events to Python. A second call, or another subscriber in the process, changes nothing.
pub fn install() {
    let subscriber = tracing_subscriber::registry().with(ToPython);
    // An embedding program may have its own subscriber, which is then kept.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

struct ToPython;

impl<S: Subscriber> Layer<S> for ToPython {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        metadata.is_event() && metadata.target().starts_with("lakebed") && *metadata.level() <= Level::DEBUG
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut message = Message::default();
        event.record(&mut message);
        let level = match *event.metadata().level() {
            Level::ERROR => 40,
            Level::WARN => 30,
            Level::INFO => 20,
            _ => 10,
        };
        let logger = event
            .metadata()
            .target()
            .replace("::", ".")
            .replace("lakebed_io", "lakebed.io")
            .replace("lakebed_core", "lakebed.core");
        // An error of logging never fails the operation that is logged.
        let _ = Python::attach(|py| -> PyResult<()> {
            let logger = py.import("logging")?.call_method1("getLogger", (logger,))?;
            logger.call_method1("log", (level, "%s", message.0))?;
            Ok(())
        });
    }
}

/// The message of an event; its other fields are in it already.
#[derive(Default)]
struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() == "message" {
            // Writing to a string cannot fail.
            let _ = write!(self.0, "{value:?}");
        }
    }
}
