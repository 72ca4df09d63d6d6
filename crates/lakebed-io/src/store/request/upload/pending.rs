//! Bytes of an upload that have not been sent yet.

use bytes::Bytes;

/// Bytes that are collected until they fill a part.
#[derive(Debug, Default)]
pub(super) struct Pending {
    pub(super) pieces: Vec<Bytes>,
    pub(super) size: usize,
}

impl Pending {
    pub(super) fn push(&mut self, bytes: Bytes) {
        self.size += bytes.len();
        if !bytes.is_empty() {
            self.pieces.push(bytes);
        }
    }

    /// Returns the first `size` bytes, or all if there are fewer.
    pub(super) fn take(&mut self, size: usize) -> Vec<Bytes> {
        let mut left = size;
        let whole = self.pieces.iter().take_while(|piece| left.checked_sub(piece.len()).inspect(|rest| left = *rest).is_some());
        let count = whole.count();
        let mut taken: Vec<Bytes> = self.pieces.drain(..count).collect();
        if let Some(next) = self.pieces.first_mut().filter(|_| left > 0) {
            taken.push(next.split_to(left));
        }
        self.size -= taken.iter().map(Bytes::len).sum::<usize>();
        taken
    }
}
