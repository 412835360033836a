"""Values into text: plain, markdown, json. Pure; prints nothing itself."""
