"""Is KDS in order in this project and in the assistants of it (`kds doctor`)?"""
