"""What the conversation is about: things mentioned, questions asked, and how salient each is."""
