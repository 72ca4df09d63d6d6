//! What concerns commits as such: when they were made. How they are drafted, validated and rebased belongs here too.

pub mod timestamp;
