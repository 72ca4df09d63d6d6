//! The requested paths as a tree, so that one walk through a JSON string finds all of them.

use memchr::memmem::Finder;

/// The requested paths. Each distinct path has a slot.
pub(super) struct Paths {
    nodes: Vec<Node>,
    slots: usize,
}

/// A name on the path to a requested value.
#[derive(Default)]
struct Node {
    /// The children, sorted by the length of their names, then by the bytes.
    children: Vec<Child>,
    slot: Option<usize>,
    /// The slots of the paths that end here or below.
    within: Vec<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct NodeId(usize);

/// A name below another name.
pub(super) struct Child {
    name: Box<[u8]>,
    pub(super) node: NodeId,
    /// Finds the name in quotes. This is how the JSON spells it if no character needs an escape.
    pub(super) quoted: Finder<'static>,
}

/// The greatest number of names for which searching each name is faster than walking through an
/// object.
const FEW: usize = 8;

impl Paths {
    pub(super) const ROOT: NodeId = NodeId(0);

    pub(super) fn new() -> Self {
        Self { nodes: vec![Node::default()], slots: 0 }
    }

    /// Adds a path, and returns its slot.
    pub(super) fn add<'n>(&mut self, names: impl Iterator<Item = &'n str>) -> usize {
        let mut way = vec![Self::ROOT];
        let mut at = Self::ROOT;
        for name in names {
            at = match self.search(at, name.as_bytes()) {
                Ok(child) => child,
                Err(place) => {
                    let child = NodeId(self.nodes.len());
                    self.nodes.push(Node::default());
                    self.nodes[at.0].children.insert(place, Child::new(name, child));
                    child
                }
            };
            way.push(at);
        }
        if let Some(slot) = self.nodes[at.0].slot {
            return slot;
        }
        let slot = self.slots;
        self.slots += 1;
        self.nodes[at.0].slot = Some(slot);
        for node in way {
            self.nodes[node.0].within.push(slot);
        }
        slot
    }

    /// Returns the number of distinct paths.
    pub(super) fn slots(&self) -> usize {
        self.slots
    }

    /// Returns the slot of the path that ends here.
    pub(super) fn slot(&self, node: NodeId) -> Option<usize> {
        self.nodes[node.0].slot
    }

    /// Returns the slots of the paths that end here or below.
    pub(super) fn within(&self, node: NodeId) -> &[usize] {
        &self.nodes[node.0].within
    }

    /// Returns whether a path continues below this node.
    pub(super) fn goes_on(&self, node: NodeId) -> bool {
        !self.nodes[node.0].children.is_empty()
    }

    /// Returns the child with this name, if a path continues there.
    pub(super) fn child(&self, node: NodeId, name: &[u8]) -> Option<NodeId> {
        self.search(node, name).ok()
    }

    /// Returns the names below this node, if they are few, no path continues below them, and each
    /// can be searched for.
    pub(super) fn few_leaves(&self, node: NodeId) -> Option<&[Child]> {
        let children = &self.nodes[node.0].children;
        let few = children.len() <= FEW && children.iter().all(|child| child.is_word() && !self.goes_on(child.node));
        few.then_some(children)
    }

    fn search(&self, node: NodeId, name: &[u8]) -> Result<NodeId, usize> {
        let children = &self.nodes[node.0].children;
        let place = children.binary_search_by(|child| (child.name.len(), &*child.name).cmp(&(name.len(), name)))?;
        Ok(children[place].node)
    }
}

impl Child {
    /// Returns whether the name cannot be confused with the text between the closing quote of one
    /// string and the opening quote of the next.
    fn is_word(&self) -> bool {
        self.name.trim_ascii_start().first().is_some_and(|first| !b",:]}".contains(first))
    }

    fn new(name: &str, node: NodeId) -> Self {
        Self { name: name.as_bytes().into(), node, quoted: Finder::new(&format!("\"{name}\"")).into_owned() }
    }
}
